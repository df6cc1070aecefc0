"""Query parameters and the options they make."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.options import DeleteOptions, ListOptions
from ghostfleet.core.errors import ApiError
from ghostfleet.server.queries import check_timeout, delete_options, listing, log_options, manager, write_options

TEXTS = st.lists(st.text(max_size=12), min_size=1, max_size=3)


def fails(call, *args, **kwargs) -> ApiError:
    with pytest.raises(ApiError) as raised:
        call(*args, **kwargs)
    return raised.value


def test_the_manager_of_a_write_is_named_or_taken_from_the_user_agent():
    assert write_options({}, "kubectl/v1.36 (linux)", "CreateOptions").manager == "kubectl"
    assert write_options({"fieldManager": ["me"]}, "kubectl/v1", "CreateOptions").manager == "me"


def test_a_manager_from_a_user_agent_is_printable_and_short():
    assert manager("a\x01b/1") == "ab"
    assert manager("é" * 100) == "é" * 64
    assert manager("") == ""


def test_a_dry_run_is_all_or_an_error():
    assert write_options({"dryRun": ["All", "All"]}, "", "CreateOptions").dry_run
    error = fails(write_options, {"dryRun": ["Foo"]}, "", "CreateOptions")
    assert error.code == 422
    assert error.message == (
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Foo"]: supported values: "All"'
    )


def test_field_validation_has_three_ways():
    assert write_options({"fieldValidation": ["Strict"]}, "", "UpdateOptions").validation == "Strict"
    assert write_options({"fieldValidation": [""]}, "", "UpdateOptions").validation == "Warn"
    error = fails(write_options, {"fieldValidation": ["Foo"]}, "", "UpdateOptions")
    assert 'supported values: "", "Ignore", "Strict", "Warn"' in error.message


def test_a_manager_that_is_too_long_or_unprintable_is_refused():
    assert (
        "may not be more than 128 bytes"
        in fails(write_options, {"fieldManager": ["a" * 129]}, "", "CreateOptions").message
    )
    assert (
        "invalid character U+0001 (at position 1)"
        in fails(write_options, {"fieldManager": ["a\x01b"]}, "", "CreateOptions").message
    )


def test_apply_needs_a_manager_and_only_apply_can_be_forced():
    for query in ({}, {"force": ["true"]}):
        assert "fieldManager: Required value" in fails(write_options, query, "x", "PatchOptions", apply=True).message
    assert write_options({"force": ["true"], "fieldManager": ["m"]}, "", "PatchOptions", apply=True).force
    assert "force: Forbidden" in fails(write_options, {"force": ["false"]}, "", "PatchOptions").message


def test_a_list_takes_selectors_a_limit_and_a_place_to_go_on():
    found = listing(
        {
            "labelSelector": ["a=b"],
            "fieldSelector": ["metadata.name=x"],
            "limit": ["5", "6"],
            "continue": ["abc"],
            "resourceVersion": ["7"],
        }
    )
    assert found.options == ListOptions("a=b", "metadata.name=x", 5, "abc", "7")
    assert not found.watch


def test_a_negative_limit_is_no_limit():
    assert listing({"limit": ["-1"]}).options.limit == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("abc", 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("٣", 'strconv.ParseInt: parsing "٣": invalid syntax'),
        ("9" * 20, f'strconv.ParseInt: parsing "{"9" * 20}": value out of range'),
        ("9" * 9999, f'strconv.ParseInt: parsing "{"9" * 9999}": value out of range'),
    ],
)
def test_a_number_that_is_none_is_a_bad_request(value, message):
    error = fails(listing, {"limit": [value]})
    assert (error.code, error.message) == (400, message)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"resourceVersionMatch": ["Exact"]}, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": ["Foo"], "resourceVersion": ["1"]}, 'Unsupported value: "Foo"'),
        ({"resourceVersionMatch": ["Exact"], "resourceVersion": ["0"]}, 'forbidden for resourceVersion "0"'),
        ({"sendInitialEvents": ["true"]}, "sendInitialEvents is forbidden for list"),
        (
            {"watch": ["1"], "sendInitialEvents": ["true"]},
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        ({"watch": ["1"], "resourceVersionMatch": ["NotOlderThan"]}, "unless sendInitialEvents is provided"),
    ],
)
def test_options_that_do_not_go_together_are_invalid(query, message):
    error = fails(listing, query)
    assert error.code == 422
    assert message in error.message
    assert error.message.startswith('ListOptions.meta.k8s.io "" is invalid: ')


def test_a_watch_list_is_a_watch_with_initial_events_and_bookmarks():
    found = listing(
        {
            "watch": ["true"],
            "sendInitialEvents": ["true"],
            "resourceVersionMatch": ["NotOlderThan"],
            "allowWatchBookmarks": ["true"],
            "timeoutSeconds": ["9"],
        }
    )
    assert (found.watch, found.initial_events, found.bookmarks, found.timeout) == (True, True, True, 9)


@pytest.mark.parametrize(
    ("text", "seconds"),
    # Seconds are counted in nanoseconds of 64 bits, which overflow; recorded from a real server.
    [("-1", -1), ("0", 0), ("9223372036854775807", -1), ("-9223372036854775808", 0)],
)
def test_a_timeout_is_counted_as_the_real_server_does(text, seconds):
    assert listing({"watch": ["1"], "timeoutSeconds": [text]}).timeout == seconds


def test_a_negative_limit_is_none():
    assert listing({"limit": ["-1"]}).options.limit == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("abc", 'time: invalid duration "abc"'),
        ("-1", 'time: missing unit in duration "-1"'),
        ("1", 'time: missing unit in duration "1"'),
    ],
)
def test_a_timeout_that_is_no_duration_is_refused(text, why):
    error = fails(check_timeout, {"timeout": [text]})
    assert (error.code, error.message) == (400, f"invalid timeout specified in the request URL - {why}")


def test_only_false_and_0_are_false():
    for text in ("false", "FALSE", "0"):
        assert not listing({"watch": [text]}).watch
    for text in ("", "true", "1", "yes", "no"):
        assert listing({"watch": [text]}).watch


def test_a_delete_takes_its_options_from_the_query():
    found = delete_options({"gracePeriodSeconds": ["5"], "propagationPolicy": ["Orphan"], "dryRun": ["All"]}, None)
    assert found.options == DeleteOptions("Orphan", 5, dry_run=True)


def test_a_body_of_delete_options_outdoes_the_query():
    body = {"gracePeriodSeconds": 0, "preconditions": {"uid": "u", "resourceVersion": "3"}, "unknown": 1}
    assert delete_options({"propagationPolicy": ["Orphan"]}, body).options == DeleteOptions(None, 0, "u", "3")


def test_the_old_orphan_dependents_still_works():
    assert delete_options({"orphanDependents": ["true"]}, None).options.propagation == "Orphan"
    found = delete_options({}, {"orphanDependents": False})
    assert found.options.propagation == "Background"
    assert found.accepted


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"propagationPolicy": "Foo"}, 422, 'supported values: "Foreground", "Background", "Orphan", "nil"'),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, "cannot be both set"),
        ({"dryRun": ["X"]}, 422, 'dryRun: Unsupported value: ["X"]'),
        ({"gracePeriodSeconds": "x"}, 400, "cannot unmarshal string into Go struct field"),
        ({"gracePeriodSeconds": True}, 400, "cannot unmarshal bool into Go struct field"),
        ({"dryRun": "All"}, 400, "of type []string"),
        ({"preconditions": []}, 400, "of type v1.Preconditions"),
        ({"preconditions": {"uid": 5}}, 400, "of type types.UID"),
    ],
)
def test_bad_options_of_a_delete_are_refused(body, code, message):
    error = fails(delete_options, {}, body)
    assert error.code == code
    assert message in error.message


def test_logs_take_a_container_and_a_number_of_lines():
    found = log_options({"container": ["c"], "tailLines": ["3"], "follow": ["true"], "previous": ["false"]}, "p")
    assert (found.container, found.tail, found.follow, found.previous) == ("c", 3, True, False)
    error = fails(log_options, {"tailLines": ["-1"]}, "p1")
    assert error.message == (
        'PodLogOptions "p1" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'
    )


@given(st.dictionaries(st.sampled_from(["limit", "watch", "timeoutSeconds", "resourceVersionMatch", "dryRun"]), TEXTS))
def test_no_query_does_worse_than_a_bad_request(query):
    for read in (
        lambda: listing(query),
        lambda: write_options(query, "", "PatchOptions"),
        lambda: delete_options(query, None),
        lambda: log_options(query, "p"),
    ):
        with contextlib.suppress(ApiError):
            read()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["gracePeriodSeconds", "orphanDependents", "propagationPolicy", "dryRun", "preconditions"]),
        JSON,
    )
)
def test_no_body_of_a_delete_does_worse_than_a_bad_request(body):
    with contextlib.suppress(ApiError):
        delete_options({}, body)
