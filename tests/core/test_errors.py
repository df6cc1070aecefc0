"""Errors: however much nonsense causes them, they stay readable."""

from __future__ import annotations

import orjson

from ghostfleet.core.errors import FieldError, bad_request, invalid, not_found


def test_a_long_message_is_cut_and_says_so():
    message = bad_request("x" * 3_000_000).message
    assert len(message) < 40_000
    assert message.endswith("... (3,000,000 characters)")


def test_a_value_or_name_of_megabytes_is_not_given_back():
    huge = "y" * 1_000_000
    error = invalid("Pod", "", huge, [FieldError.invalid("metadata.name", huge, "must be a name")])
    assert len(orjson.dumps(error.status())) < 100_000
    assert len(orjson.dumps(not_found("pods", huge).status())) < 100_000


def test_of_very_many_findings_only_the_first_are_told():
    findings = [FieldError.required(f"spec.containers[{number}].name") for number in range(100_000)]
    error = invalid("Pod", "", "p", findings)
    assert "spec.containers[0].name: Required value" in error.message
    assert len(error.details["causes"]) == 1000
    assert len(orjson.dumps(error.status())) < 200_000


def test_what_people_meet_is_told_in_full():
    findings = [FieldError.invalid(f"spec.ports[{number}]", "z" * 1000, "too long") for number in range(20)]
    assert invalid("Service", "", "s", findings).message.count("z" * 1000) == 20
