"""Answers on their way to the client."""

from __future__ import annotations

import asyncio
import gzip

import orjson
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.errors import bad_request, request_too_large, too_many_requests
from ghostfleet.server.negotiation import YAML, MediaType
from ghostfleet.server.responses import (
    Answer,
    error_answer,
    object_answer,
    page_not_found,
    send_answer,
    text_answer,
    warning,
)


def sent(answer: Answer, accept_encoding: str = "", **options) -> tuple[int, dict[bytes, bytes], bytes]:
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(send_answer(send, answer, accept_encoding, **options))
    start, body = messages
    return start["status"], dict(start["headers"]), body["body"]


def test_an_object_goes_out_as_one_line_of_json():
    status, headers, body = sent(object_answer(201, {"a": 1}))
    assert (status, body) == (201, b'{"a":1}\n')
    assert headers == {
        b"content-type": b"application/json",
        b"cache-control": b"no-cache, private",
        b"content-length": b"8",
    }


def test_an_object_can_be_pretty_or_yaml():
    assert object_answer(200, {"a": [1]}, MediaType(pretty=True)).body == b'{\n  "a": [\n    1\n  ]\n}'
    answer = object_answer(200, {"b": {}, "a": "yes"}, MediaType(YAML))
    assert answer.media == "application/yaml"
    assert answer.body == b'a: "yes"\nb: {}\n'


def test_a_large_body_is_compressed_for_those_who_take_it():
    large = Answer(200, b"x" * 200_000)
    _, headers, body = sent(large, "deflate, gzip")
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"vary"] == b"Accept-Encoding"
    assert int(headers[b"content-length"]) == len(body) < 2000
    assert gzip.decompress(body) == large.body
    for accepted in ("", "identity", "gzippy"):
        assert sent(large, accepted)[2] == large.body


def test_a_small_body_is_not_compressed():
    assert b"content-encoding" not in sent(Answer(200, b"x" * 131_072), "gzip")[1]


def test_head_gets_the_headers_only():
    status, headers, body = sent(text_answer(200, "ok"), body_wanted=False)
    assert (status, headers[b"content-length"], body) == (200, b"2", b"")


def test_an_error_is_a_status():
    status, _, body = sent(error_answer(bad_request("no")))
    assert status == 400
    assert orjson.loads(body)["message"] == "no"


def test_who_should_try_again_is_told_when():
    assert (b"retry-after", b"7") in error_answer(too_many_requests("later", 7)).headers


def test_a_request_that_was_not_read_to_its_end_ends_its_connection():
    assert (b"connection", b"close") in error_answer(request_too_large(1), unread=True).headers
    assert (b"connection", b"close") not in error_answer(request_too_large(1)).headers


def test_an_unknown_page_is_told_in_plain_text():
    answer = page_not_found()
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


def test_warnings_are_quoted():
    assert warning('unknown field "a\\b"') == (b"warning", rb'299 - "unknown field \"a\\b\""')
    answer = object_answer(200, {}, warnings=["one", "two", "one"])
    assert [value for name, value in answer.headers if name == b"warning"] == [b'299 - "one"', b'299 - "two"']


def test_warnings_without_end_are_cut_off():
    answer = object_answer(200, {}, warnings=[f"{number}" * 100 for number in range(1000)])
    assert sum(len(value) for name, value in answer.headers if name == b"warning") <= 4096


@given(st.text(st.characters(), max_size=30))
def test_no_warning_breaks_its_header(text):
    value = warning(text)[1]
    assert value.startswith(b'299 - "')
    assert not any(byte < 32 or byte == 127 for byte in value)
