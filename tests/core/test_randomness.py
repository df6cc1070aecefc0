"""Streams that are the same on every machine."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections import Counter

from ghostfleet.core.names import ALPHABET, suffix, uid
from ghostfleet.core.randomness import Streams


def test_the_same_seed_and_name_give_the_same_numbers():
    assert Streams(7).stream("pods").random() == Streams("7").stream("pods").random() == 0.23683637602419405


def test_streams_differ_by_name_and_by_seed():
    first = [Streams(seed).stream(name).random() for seed in (1, 2, "a") for name in ("x", "y", "1")]
    assert len(set(first)) == len(first)


def test_a_stream_goes_on_where_it_was():
    streams = Streams(1)
    assert streams.stream("a") is streams.stream("a")


def test_drawing_from_one_stream_does_not_disturb_another():
    alone, disturbed = Streams(1), Streams(1)
    for _ in range(10):
        disturbed.stream("noise").random()
    assert alone.stream("a").random() == disturbed.stream("a").random()


def test_the_hash_seed_of_python_does_not_matter():
    program = "from ghostfleet.core.names import *; from ghostfleet.core.randomness import *; r = Streams('s').stream('n'); print(uid(r), suffix(r))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "12345")
    }
    assert len(outputs) == 1


def test_uids_are_random_uuids_of_version_four():
    rng = Streams(3).stream("uids")
    made = [uid(rng) for _ in range(2000)]
    assert len(set(made)) == 2000
    assert all(uuid.UUID(text).version == 4 and uuid.UUID(text).variant == uuid.RFC_4122 for text in made)
    assert all(str(uuid.UUID(text)) == text for text in made)


def test_suffixes_use_the_whole_alphabet_evenly():
    rng = Streams(3).stream("names")
    made = [suffix(rng) for _ in range(5400)]
    assert {len(text) for text in made} == {5}
    letters = Counter("".join(made))
    assert set(letters) == set(ALPHABET)
    assert all(800 < count < 1200 for count in letters.values())
    assert len(suffix(rng, 10)) == 10
