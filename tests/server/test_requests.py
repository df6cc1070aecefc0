"""Requests: headers, queries and bodies."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.errors import ApiError
from ghostfleet.server.requests import BODY_LIMIT, ClientGone, Intake, Request

MEGABYTE = b"x" * (1024 * 1024)


def request_of(*chunks: bytes, query: bytes = b"", headers=(), gone: bool = False) -> tuple[Request, list[bytes]]:
    """A request whose body comes in these chunks, and the list of those that were not fetched."""
    waiting = list(chunks)

    async def receive():
        if not waiting:
            return {"type": "http.disconnect"}
        chunk = waiting.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(waiting) or gone}

    scope = {"method": "POST", "path": "/", "query_string": query, "headers": list(headers)}
    return Request(scope, receive), waiting


def test_headers_are_found_by_name():
    request, _ = request_of(headers=[(b"accept", b"a/b"), (b"user-agent", b"me/1"), (b"x-other", b"1")])
    assert (request.accept, request.user_agent, request.authorization) == ("a/b", "me/1", "")


def test_a_header_that_comes_twice_is_a_list():
    request, _ = request_of(headers=[(b"accept", b"a/b"), (b"accept", b"c/d")])
    assert request.accept == "a/b,c/d"


def test_a_query_has_all_values_of_each_parameter():
    request, _ = request_of(query=b"a=1&b=x%3Dy+z&a=2&c&=&%20=%C3%A9")
    assert request.query == {"a": ["1", "2"], "b": ["x=y z"], "c": [""], "": [""], " ": ["é"]}
    assert request.parameter("a") == "1"
    assert request.parameter("nope") == ""


@given(st.binary(max_size=60))
def test_any_query_can_be_read(query):
    request, _ = request_of(query=query)
    assert all(isinstance(value, str) for values in request.query.values() for value in values)


def test_a_body_is_put_together_from_its_chunks():
    request, _ = request_of(b"ab", b"", b"cd")
    assert asyncio.run(request.body(Intake())) == b"abcd"


def test_a_body_at_the_limit_is_read():
    request, _ = request_of(*[MEGABYTE] * 3)
    assert len(asyncio.run(request.body(Intake()))) == BODY_LIMIT


@pytest.mark.parametrize("chunks", [[MEGABYTE * 3 + b"x"], [MEGABYTE] * 3 + [b"x"], [MEGABYTE] * 8])
def test_a_body_over_the_limit_is_refused_whatever_it_says_of_its_length(chunks):
    request, _ = request_of(*chunks, headers=[(b"content-length", b"10")])
    with pytest.raises(ApiError, match="Request entity too large: limit is 3145728") as raised:
        asyncio.run(request.body(Intake()))
    assert raised.value.code == 413


def test_an_endless_body_is_not_read_to_its_end():
    request, waiting = request_of(*[MEGABYTE] * 100)
    with pytest.raises(ApiError):
        asyncio.run(request.body(Intake()))
    assert len(waiting) > 75


def test_a_body_that_announces_itself_as_huge_is_not_read_at_all():
    request, waiting = request_of(b"x", headers=[(b"content-length", b"999999999999")])
    with pytest.raises(ApiError):
        asyncio.run(request.body(Intake()))
    assert waiting == [b"x"]


def test_a_client_that_goes_away_while_it_sends_is_noticed():
    request, _ = request_of(b"ab", gone=True)
    with pytest.raises(ClientGone):
        asyncio.run(request.body(Intake()))
