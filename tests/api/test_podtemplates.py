"""Templates in custom resources are read as pods would be."""

from __future__ import annotations

from random import Random

import pytest

from ghostfleet.api.admission import Admission
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store

SPEC = {"containers": [{"name": "main", "image": "trainer", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}


def templates():
    return Admission(Store(VirtualClock()), Random(0)).templates


def test_a_clean_template_is_returned_as_it_is_so_that_pods_can_share_it():
    template = {"metadata": {"labels": {"app": "a"}}, "spec": SPEC}
    reader = templates()
    assert reader.read(template) is template
    other = reader.read({"metadata": {"labels": {"app": "b"}}, "spec": SPEC})
    assert other["spec"] is SPEC
    assert other["metadata"]["labels"] == {"app": "b"}


def test_fields_that_pods_do_not_have_go():
    template = {"metadata": {"shape": "round"}, "spec": {**SPEC, "colour": "blue"}}
    assert templates().read(template) == {"metadata": {}, "spec": SPEC}


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        (None, "expected to be an object"),
        ({}, "spec.containers: Required value"),
        ({"spec": 3}, "cannot unmarshal number"),
        ({"spec": {"containers": [{"name": "A B", "image": "x"}]}}, r"spec.containers\[0\].name: Invalid value"),
        ({"metadata": {"labels": {"a": 1}}, "spec": SPEC}, "cannot unmarshal number"),
        ({"metadata": {"labels": {"a": "?"}}, "spec": SPEC}, "metadata.labels: Invalid value"),
        ({"metadata": 3, "spec": SPEC}, "cannot unmarshal number"),
        ({"spec": {"containers": [{**SPEC["containers"][0], "resources": {"limits": {"cpu": "x"}}}]}}, "quantities"),
    ],
)
def test_what_no_pod_can_be_made_of_is_refused_in_the_words_of_the_api(template, problem):
    reader = templates()
    for _ in range(2):
        with pytest.raises(ApiError, match=problem):
            reader.read(template)
