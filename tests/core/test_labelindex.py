"""Label indexes find what a scan would find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.labelindex import ObjectsByLabel, SelectorIndex
from ghostfleet.core.store import Store

WORDS = st.sampled_from(["a", "b", "c"])
LABELS = st.dictionaries(WORDS, WORDS, max_size=3)
SELECTORS = st.dictionaries(st.integers(0, 5).map(str), LABELS.filter(bool))


@given(SELECTORS, st.lists(st.integers(0, 5).map(str)), LABELS)
def test_selectors_that_match_are_found_whatever_was_added_and_removed(selectors, removed, labels):
    index = SelectorIndex()
    for name, wanted in selectors.items():
        index.add(name, wanted)
    for name in removed:
        index.remove(name)
    left = {name: wanted for name, wanted in selectors.items() if name not in removed}
    expected = {name for name, wanted in left.items() if wanted.items() <= labels.items()}
    assert {name for name, _ in index.matching(labels)} == expected
    assert len(index) == len(left)


def test_a_selector_is_kept_by_the_label_that_tells_it_apart():
    index = SelectorIndex()
    index.add("first", {"app": "web", "pod": "1"})
    assert index.add("second", {"app": "web", "pod": "2"}) == ("pod", "2")
    assert index.matching(None) == []


@given(st.lists(st.tuples(st.integers(0, 4).map(str), st.none() | LABELS), max_size=20), WORDS, WORDS)
def test_objects_are_found_by_label_through_all_their_changes(changes, label, value):
    store = Store(VirtualClock())
    index = ObjectsByLabel(store, "pods")
    store.listen("pods", index.note)
    labelled: dict[str, dict[str, str]] = {}
    for step, (name, labels) in enumerate(changes):
        metadata = {"name": name, "namespace": "default", "labels": labels}
        if labels is None:
            if labelled.pop(name, None) is not None:
                store.delete("pods", "default", name)
        elif name in labelled:
            store.update("pods", {"metadata": metadata})
            labelled[name] = labels
        else:
            store.create("pods", {"metadata": metadata})
            labelled[name] = labels
        if step % 3 == 0:
            index.names("default", label, value)
    expected = sorted(name for name, labels in labelled.items() if labels.get(label) == value)
    assert sorted(index.names("default", label, value)) == expected
    index.forget()
    assert sorted(index.names("default", label, value)) == expected
