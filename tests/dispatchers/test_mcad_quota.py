"""Quota trees by themselves: borrowing, reclaiming, hard limits, and sums that always add up."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import quota, subtree

from ghostfleet.dispatchers.mcad.amounts import Amounts, total
from ghostfleet.dispatchers.mcad.quotaforest import Forest

LEAVES = ("gold", "silver", "bronze")


def forest(*leaves, root: int = 16, hard_root: bool = False) -> Forest:
    """One tree: a root and its leaves."""
    grown = Forest()
    grown.replant(
        [
            subtree("root", "context", [quota("root", root, hard=hard_root)]),
            subtree("leaves", "context", list(leaves), parent="root"),
        ]
    )
    return grown


def ask(trees: Forest, name: str, leaf: str, gpus: int, *, priority: int = 0, preemptable: bool = True):
    leaves = dict.fromkeys(trees.trees, leaf)
    return trees.allocate(("ns", name), leaves, Amounts(0, 0, gpus), priority=priority, preemptable=preemptable)


def used(trees: Forest, node: str, tree: str = "context") -> int:
    return trees.trees[tree].nodes[node].used.gpu


def placed(trees: Forest, name: str, tree: str = "context") -> str:
    return trees.trees[tree].consumers["ns", name].node.name


def test_a_soft_leaf_borrows_what_others_leave():
    trees = forest(quota("gold", 8), quota("silver", 8))
    assert ask(trees, "a", "silver", 16).granted
    assert placed(trees, "a") == "root"
    assert (used(trees, "silver"), used(trees, "root")) == (0, 16)


def test_the_rightful_owner_reclaims_borrowed_quota():
    trees = forest(quota("gold", 8), quota("silver", 8))
    ask(trees, "borrower", "silver", 16)
    answer = ask(trees, "owner", "gold", 8)
    assert answer.granted
    assert answer.victims == (("ns", "borrower"),)
    assert (used(trees, "gold"), used(trees, "root")) == (8, 8)


def test_a_borrower_that_may_not_be_preempted_stays():
    trees = forest(quota("gold", 8), quota("silver", 8))
    ask(trees, "borrower", "silver", 16, preemptable=False)
    assert not ask(trees, "owner", "gold", 8).granted
    assert used(trees, "root") == 16


def test_a_hard_leaf_does_not_borrow():
    trees = forest(quota("gold", 8), quota("bronze", 4, hard=True))
    answer = ask(trees, "a", "bronze", 8)
    assert not answer.granted
    assert answer.message == "Failed to allocate quota on quota designation 'context'"
    assert ask(trees, "b", "bronze", 4).granted


def test_within_a_leaf_the_more_important_pushes_the_other_up():
    trees = forest(quota("gold", 8), quota("silver", 8))
    ask(trees, "low", "gold", 8)
    assert ask(trees, "high", "gold", 8, priority=10).victims == ()
    assert (placed(trees, "low"), placed(trees, "high")) == ("root", "gold")


def test_when_all_is_used_the_less_important_is_preempted():
    trees = forest(quota("gold", 8), root=8)
    ask(trees, "low", "gold", 8)
    assert ask(trees, "high", "gold", 8, priority=10).victims == (("ns", "low"),)
    assert not ask(trees, "same", "gold", 8, priority=10).granted


def test_what_was_borrowed_slides_down_when_quota_is_released():
    trees = forest(quota("gold", 8), quota("silver", 8))
    ask(trees, "first", "gold", 8)
    ask(trees, "second", "gold", 8)
    assert placed(trees, "second") == "root"
    assert trees.release(("ns", "first"))
    assert placed(trees, "second") == "gold"
    assert not trees.release(("ns", "first"))


def test_only_leaves_can_be_named():
    trees = forest(quota("gold", 8))
    assert not ask(trees, "a", "root", 1).granted
    assert not ask(trees, "a", "nowhere", 1).granted


def test_quota_is_needed_in_every_tree_and_taken_in_none_if_one_refuses():
    trees = Forest()
    trees.replant(
        [
            subtree("a", "context", [quota("root", 8)]),
            subtree("b", "context", [quota("default", 8)], parent="root"),
            subtree("c", "service", [quota("root", 4)]),
            subtree("d", "service", [quota("default", 4, hard=True)], parent="root"),
        ]
    )
    answer = ask(trees, "a", "default", 8)
    assert (answer.granted, answer.tree) == (False, "service")
    assert used(trees, "root") == 0
    assert ask(trees, "a", "default", 4).granted
    assert used(trees, "root") == used(trees, "root", "service") == 4


def test_who_must_go_in_one_tree_makes_room_in_the_others_whatever_the_trees_are_called():
    for borrowed, plain in (("a", "z"), ("z", "a")):
        trees = Forest()
        trees.replant(
            [
                subtree("roots", borrowed, [quota("root", 16)]),
                subtree("leaves", borrowed, [quota("gold", 8), quota("silver", 8)], parent="root"),
                subtree("plain", plain, [quota("root", 16)]),
                subtree("plain-leaves", plain, [quota("gold", 16)], parent="root"),
            ]
        )
        leaves = {borrowed: "silver", plain: "gold"}
        asks = {"priority": 0, "preemptable": True}
        assert trees.allocate(("default", "borrower"), leaves, Amounts(gpu=16), **asks).granted
        answer = trees.allocate(("default", "owner"), {**leaves, borrowed: "gold"}, Amounts(gpu=8), **asks)
        assert (answer.granted, answer.victims) == (True, (("default", "borrower"),))
        assert used(trees, "root", borrowed) == used(trees, "root", plain) == 8


def test_a_resource_that_a_node_does_not_state_is_none():
    trees = Forest()
    only_cpu = {"name": "root", "quotas": {"requests": {"cpu": 8}}}
    trees.replant([subtree("a", "context", [only_cpu])])
    assert not ask(trees, "a", "root", 1).granted
    assert ask(trees, "a", "root", 0).granted


def test_a_circle_of_nodes_leads_to_no_root():
    trees = Forest()
    trees.replant(
        [
            subtree("a", "context", [quota("one", 8)], parent="two"),
            subtree("b", "context", [quota("two", 8)], parent="one"),
        ]
    )
    assert trees.dangling == {"context": ["one", "two"]}
    assert not ask(trees, "a", "one", 1).granted


def test_a_circle_beside_a_root_is_left_out_of_the_tree():
    trees = Forest()
    trees.replant(
        [
            subtree("r", "context", [quota("root", 8)]),
            subtree("l", "context", [quota("gold", 8)], parent="root"),
            subtree("a", "context", [quota("one", 8)], parent="two"),
            subtree("b", "context", [quota("two", 8)], parent="one"),
        ]
    )
    assert trees.dangling == {"context": ["one", "two"]}
    assert ask(trees, "a", "gold", 8).granted


def test_consumers_stay_where_they_are_when_a_tree_is_changed():
    trees = forest(quota("gold", 8), quota("silver", 8))
    ask(trees, "own", "gold", 4)
    ask(trees, "borrower", "silver", 10)
    trees.replant(
        [
            subtree("root", "context", [quota("root", 32)]),
            subtree("leaves", "context", [quota("gold", 8), quota("silver", 8), quota("new", 16)], parent="root"),
        ]
    )
    assert (placed(trees, "own"), placed(trees, "borrower")) == ("gold", "root")
    assert used(trees, "root") == 14


#: What is done one after the other: a name and either what is asked for, or None to release.
STEPS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.none() | st.tuples(st.sampled_from(LEAVES), st.integers(0, 12), st.integers(0, 3), st.booleans()),
    ),
    max_size=25,
)
NODES = st.tuples(st.integers(0, 16), st.booleans())


@given(steps=STEPS, leaves=st.tuples(NODES, NODES, NODES), root=st.integers(0, 24), hard_root=st.booleans())
def test_sums_add_up_hard_limits_hold_and_quota_is_released_once(steps, leaves, root, hard_root):
    stated = [quota(name, gpus, hard=hard) for name, (gpus, hard) in zip(LEAVES, leaves, strict=True)]
    trees = forest(*stated, root=root, hard_root=hard_root)
    tree = trees.trees["context"]
    holds: dict[str, int] = {}
    for number, asked in steps:
        name = f"c{number}"
        if asked is None:
            assert trees.release(("ns", name)) == (name in holds)
            holds.pop(name, None)
        elif name not in holds:
            leaf, gpus, priority, preemptable = asked
            answer = ask(trees, name, leaf, gpus, priority=priority, preemptable=preemptable)
            if answer.granted:
                holds[name] = gpus
                for _, victim in answer.victims:
                    del holds[victim]
        for node in tree.nodes.values():
            below = [node, *node.children]
            assert node.used == total(each.asks for part in below for each in part.consumers.values())
            # Nothing is forced here, so that no node is ever overdrawn, hard or not.
            assert node.used.fits(node.quota)
        assert {key[1] for key in tree.consumers} == set(holds)
        assert tree.root.used.gpu == sum(holds.values())
