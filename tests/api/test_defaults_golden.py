"""Every kind with defaults: a manifest as people write it, and the object that the cluster makes of it.

The name of an input is the key of its resource and a word for the case: `deployments.apps.minimal.input.yaml`. Outputs are
what a real API server answered; each says which version, and `python tools/record defaults` asks it again.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.admission import admit_pod
from ghostfleet.api.strategy import apply_defaults, finish_create, prepare_for_create

CASES = Path(__file__).parent / "defaults"
NAMES = sorted(path.name.removesuffix(".input.yaml") for path in CASES.glob("*.input.yaml"))


def load(name):
    """Key of the resource, manifest."""
    return name.rpartition(".")[0], yaml.safe_load((CASES / f"{name}.input.yaml").read_text())


def created(key, manifest):
    """The object as it would be stored."""
    obj = apply_defaults(key, manifest)
    if key == "pods":
        obj = admit_pod(obj, priority_class=lambda name: None, default_priority_class=lambda: None)
    obj = prepare_for_create(key, obj)
    system = {"uid": "11111111-2222-4333-8444-555555555555", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return finish_create(key, {**obj, "metadata": {**obj["metadata"], **system}})


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_becomes_the_object_that_kubernetes_makes_of_it(name):
    assert created(*load(name)) == yaml.safe_load((CASES / f"{name}.output.yaml").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_what_was_created_has_no_defaults_left_to_fill_in(name):
    key, manifest = load(name)
    stored = created(key, manifest)
    assert apply_defaults(key, stored) is stored


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_is_never_changed_in_place(name):
    key, manifest = load(name)
    before = copy.deepcopy(manifest)
    created(key, manifest)
    assert manifest == before


@pytest.mark.parametrize("name", NAMES)
def test_nulls_count_as_absent(name):
    key, manifest = load(name)
    complete = apply_defaults(key, manifest)
    assert apply_defaults(key, {**dict.fromkeys(complete), **manifest}) == complete


def fields_of(value):
    """Every (object, field) in a JSON value, from the outside in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield value, key
            yield from fields_of(inner)
    elif isinstance(value, list):
        for item in value:
            yield from fields_of(item)


@given(st.sampled_from(NAMES), st.data())
def test_whatever_is_left_out_is_filled_in_once_and_for_all(name, data):
    key, manifest = load(name)
    thinned = json.loads(json.dumps(created(key, manifest)))
    fields = [(holder, field) for holder, field in fields_of(thinned) if field not in ("metadata", "uid")]
    for holder, field in data.draw(st.lists(st.sampled_from(fields), max_size=5)):
        holder.pop(field, None)
    before = copy.deepcopy(thinned)
    filled = apply_defaults(key, thinned)
    assert thinned == before
    assert apply_defaults(key, filled) is filled
