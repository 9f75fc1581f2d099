"""Programs that use verbs, recorded with the real provider on soft-RoCE; each side is replayed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rdb.paths import rdb_exec_path
from vm.guest import Guest
from vm.programs import GROUP, JOINED, PAIRS, Pair
from vm.recording import Recording, all_equal

pytestmark = pytest.mark.rdma
TIMEOUT_S = 120
VERBS = Path(rdb_exec_path()).parent / "verbs"
OPTIONS = (
    f"--verbs-stub {VERBS}/libibverbs.so.1 --cm-stub {VERBS}/librdmacm.so.1"
    f" --verbs-lower {VERBS}/verbs.so --hca real"
)
# A hash takes long in there: perftest has thousands of events.
HASH_EVERY = {"ping": 10, "perf": 50}
# Looks at memory until the other side has written there.
POLLS_MEMORY = "ib_write_lat"
# Names of those that let the other side write to their memory.
OTHERS_WRITE = ("write", "atomic", "rping")


def below(pair: Pair) -> Pair:
    """With our librdmacm: it connects by TCP (verbs/cm/port.c), so the device has less to send."""
    if not pair.ready.startswith("cm:"):
        return pair
    port = 61000 + int(pair.ready.removeprefix("cm:")) % 4536
    return replace(pair, ready=f"tcp:{port}", packets=pair.packets // 2)


RECORDED = [below(pair) for pair in PAIRS]


def recording(name: str, side: str, hashed: bool) -> Recording:
    often = HASH_EVERY["ping" if "pingpong" in name else "perf"] if hashed else 0
    return Recording(f"/tmp/real/{name}-{often}/{side}", often, OPTIONS)


def record(
    server: Guest, client: Guest, pair: Pair, hashed: bool = True
) -> tuple[Recording, Recording]:
    """Both sides as they are without rdb, and the bytes really left the device."""
    ours, theirs = (recording(pair.name, side, hashed) for side in ("server", "client"))
    before = server.sent_packets()
    serving = server.start(ours.of(pair.server), ready=pair.ready, timeout_s=TIMEOUT_S)
    serving.until_ready()
    host = f"10.9.0.{int(server.name[1:]) + 1}"
    called = client.run(theirs.of(pair.client.format(host=host)), timeout_s=TIMEOUT_S)
    served = serving.wait()
    assert (called.code, served.code) == (0, 0), called.text + served.text
    assert pair.prints in called.out
    if server is client:
        assert server.sent_packets() - before >= pair.packets
    return ours, theirs


@pytest.mark.parametrize("pair", RECORDED, ids=lambda p: p.name)
def test_each_side_replays_alone(alone: Guest, pair: Pair) -> None:
    for side in record(alone, alone, pair):
        answers = side.verify(alone, TIMEOUT_S)
        assert all_equal(answers), "\n".join(map(str, answers))
        cautions = alone.run(f"cat {side.folder}/rank-0/cautions").out
        assert ("over RDMA" in cautions) == any(word in pair.name for word in OTHERS_WRITE)


@pytest.mark.parametrize("name", ["rc_pingpong", "ib_send_lat", POLLS_MEMORY])
def test_as_users_record(alone: Guest, name: str) -> None:
    """Without hashes at fixed events: empty polls, clocks and rdtsc take their short ways."""
    [pair] = (p for p in RECORDED if p.name == name)
    for side in record(alone, alone, pair, hashed=False):
        answers = side.verify(alone, TIMEOUT_S)
        assert answers and all(a["ok"] is True for a in answers), "\n".join(map(str, answers))


def test_multicast(alone: Guest) -> None:
    ours, theirs = (
        Recording(f"/tmp/real/mckey/{side}", 100_000, OPTIONS) for side in ("in", "out")
    )
    receiving = alone.start(ours.of(GROUP), timeout_s=TIMEOUT_S)
    assert alone.run(JOINED).code == 0
    sent = alone.run(theirs.of(f"{GROUP} -s"), timeout_s=TIMEOUT_S)
    received = receiving.wait()
    assert (sent.code, received.code) == (0, 0), sent.text + received.text
    assert "data transfers complete" in received.out
    for side in (ours, theirs):
        answers = side.verify(alone, TIMEOUT_S)
        assert answers and all(a["ok"] is True for a in answers), "\n".join(map(str, answers))


def test_the_devices_attributes(alone: Guest) -> None:
    native = alone.run("ibv_devinfo -v")
    devinfo = Recording("/tmp/real/devinfo", 100, OPTIONS)
    ran = alone.run(devinfo.of("ibv_devinfo -v"), timeout_s=TIMEOUT_S)
    assert (ran.code, ran.out) == (0, native.out), ran.text
    assert all_equal(devinfo.verify(alone, TIMEOUT_S))


def test_between_machines(pair: list[Guest]) -> None:
    server, client = pair
    for program in (p for p in RECORDED if p.name in ("rc_pingpong", POLLS_MEMORY)):
        sides = record(server, client, program)
        for side, machine in zip(sides, pair, strict=True):
            answers = side.verify(machine, TIMEOUT_S)
            assert all_equal(answers), "\n".join(map(str, answers))
