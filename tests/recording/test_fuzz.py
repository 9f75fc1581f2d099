"""Readers and parsers under garbage, for a bounded processor time (RDB_FUZZ_SECONDS).
(`make fuzz`: longer.)

They may refuse it; they may not crash, hang, or answer wrongly.  What a packet says is fuzzed in
test_server.py, how packets are framed here.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from conftest import Build
from faults import Rank, tiny
from fuzz.build import TARGETS, build, have_libfuzzer, seeds_of
from hypothesis import given, settings
from hypothesis import strategies as st

from rdb.server.packets import Connection, frame

SECONDS = float(os.environ.get("RDB_FUZZ_SECONDS", "3"))  # of a processor
SEED = int(os.environ.get("RDB_FUZZ_SEED", "1"))


@pytest.mark.parametrize("target", TARGETS)
def test_readers(build_tiny: Path, tmp_path: Path, target: str) -> None:
    guided = SECONDS >= 30 and have_libfuzzer(tmp_path)
    fuzzer = build(target, tmp_path, guided)
    said = fuzzer.run(seeds_of(build_tiny, target, tmp_path), SECONDS, SEED, tmp_path)
    runs = re.search(r"number_of_executed_units: (\d+)" if guided else r"(\d+) runs", said)
    assert runs is not None, said
    print(f"{target}: {runs[1]} inputs by {'libFuzzer' if guided else 'mutate.c'}")
    assert int(runs[1]) > 50 * SECONDS


@pytest.fixture
def build_tiny(build: Build, tmp_path: Path) -> Path:
    """The directory of the smallest recording."""
    rank = Rank.make(tmp_path / "tiny")
    assert rank.record(tiny(build), options=("--hash-every", "1")) == 3
    return rank.path


NOISE = st.lists(
    st.one_of(st.sampled_from([b"$", b"#", b"}", b"+", b"-", b"\x03", b"$a#61"]), st.binary()),
    max_size=12,
).map(b"".join)


@settings(max_examples=500)
@given(NOISE, st.booleans())
def test_a_packet_is_found_after_any_noise(noise: bytes, acks: bool) -> None:
    """It may take a second one: the first may be taken for the end of what came before."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Connection(theirs.fileno(), theirs.fileno())
        connection.acks = acks
        packets = []
        for data in (noise, frame(b"qC"), frame(b"qC")):
            if not data:
                continue
            ours.sendall(data)
            connection.fill()
            while (packet := connection.poll()) is not None:
                packets.append(packet)
        assert packets and packets[-1].data == b"qC" and not packets[-1].interrupt
        ours.close()
        connection.fill()
        assert connection.receive() is None
