"""Verbs programs on the software HCA: recorded in pairs, each side replayed alone."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import SAMPLE, Build, Rdb
from verbspair import Pair, record_pair, record_pingpong

from rdb.paths import lib_dir
from rdb.recording import open_job
from rdb.recording.log.verbs_calls import Call
from rdb.recording.verbs.objects import verbs_at
from rdb.timeline.position import Position
from rdb.timeline.timeline import Timeline

LIBRARY = "-libverbs"


@pytest.fixture
def record(build: Build, rdb_home: Path, tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(source: str, options: tuple[str, ...] = ()) -> Pair:
        program = build(source, "-g", "-O1", LIBRARY, "-lpthread")
        return record_pair(program, tmp_path, options)

    return run


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("verbs_rc.c", ("server: word 77", "client done")),
        ("verbs_spin.c", ("sum 2686700", "sum 2686700")),
        ("verbs_sleep.c", ("and 17719900", "client done")),
        ("verbs_channel.c", ("round 18", "round 19")),
        ("verbs_threads.c", ("received 465", "received 465")),
        ("verbs_signals.c", ("ticks: yes", "ticks: yes")),
        ("verbs_fork.c", ("server got: after the fork", "child: from me to me")),
    ],
)
def test_each_side_is_replayed_alone(record, source: str, said: tuple[str, str]) -> None:  # type: ignore[no-untyped-def]
    # Hashes of all memory would be most of the time of thousands of small writes; and two of them
    # for each signal take as long, where others want the processor, as it is until the next signal.
    seldom = source in ("verbs_sleep.c", "verbs_signals.c")
    pair = record(source, ("--hash-every=50",) if seldom else ())
    pair.check()
    for text, out in zip(said, pair.out, strict=True):
        assert text in out
    pair.replay()


def test_extended_queues(record) -> None:  # type: ignore[no-untyped-def]
    """ibv_create_cq_ex and ibv_wr_*; what a completion does not tell is refused."""
    pair = record("verbs_extended.c")
    pair.check()
    lacking = [f"{what}: Operation not supported" for what in ("flow tags", "VLANs", "overrun")]
    assert pair.out[0].splitlines() == [
        *lacking,
        "12 bytes with 22",
        "from two sge, inline, 42",
        "server done",
    ]
    assert pair.out[1].splitlines() == [
        *lacking,
        "five of four: Cannot allocate memory",
        "inline, 37",
        "client done",
    ]
    pair.replay()


def test_domains_device_memory_paging_and_time_stamps(record) -> None:  # type: ignore[no-untyped-def]
    pair = record("verbs_resources.c")
    pair.check()
    said = ["domains", "from memory to memory", "on demand", "time stamps"]
    assert [out.splitlines()[:-1] for out in pair.out] == [said, said]
    pair.replay()


def test_errors_in_the_right_words(record) -> None:  # type: ignore[no-untyped-def]
    pair = record("verbs_errors.c")
    pair.check()
    both = [
        "RESET to RTS: Invalid argument",
        "a PD in use: Device or resource busy",
        "a send in RESET: refused, the first",
        "flow tags: not there",
        "a port that is not there: refused",
    ]
    assert pair.out[0].splitlines() == [*both, "receive: local length error", "server done"]
    assert pair.out[1].splitlines() == [
        *both,
        "send: remote invalid request error",
        "after it: Work Request Flushed Error",
        "state 6",
        "wrong key: remote access error",
        "client done",
    ]
    pair.replay()


def test_memory_polled_for_a_write_is_replayed_to_the_iteration(record) -> None:  # type: ignore[no-untyped-def]
    """No event happens while the program polls: the write has a position of its own."""
    pair = record("verbs_spin.c")
    pair.check()
    recording = open_job("server").rank(0)
    stops = [one for one in recording.records() if one.kind.name == "PREEMPT"]
    written = [chunk for stop in stops for chunk in stop.chunks if chunk.addr]
    assert written, "nothing was written where the program stood"
    pair.replay()
    # the program's only thread goes on from there, instruction by instruction, and back
    with Timeline(recording) as timeline:
        for stop in stops[: 1 if SAMPLE else 3]:
            timeline.seek(Position(stop.event))
            seen = [timeline.gpr]
            for _ in range(20):
                timeline.step(True, 1)
                seen.append(timeline.gpr)
                assert timeline.position.event == stop.event
            for gpr in reversed(seen[:-1]):
                timeline.step(False, 1)
                assert timeline.gpr == gpr
            assert timeline.position == Position(stop.event)
            timeline.step(False, 1)
            assert timeline.position.event == stop.event - 1


# -o, -O, -P: on-demand paging; -t: time stamps; -j: device memory; -N: ibv_wr_post(3); -c: checks
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((kind, "") for kind in ("rc", "uc", "ud", "srq")),
        *(("rc", options) for options in ("-c -o -P", "-c -O", "-c -t", "-c -j", "-c -N")),
    ],
)
def test_pingpong_of_debian(kind: str, options: str, rdb_home: Path, tmp_path: Path) -> None:
    program = f"ibv_{kind}_pingpong"
    assert shutil.which(program), "ibverbs-utils is one of the Makefile's packages"
    pair = record_pingpong(program, tmp_path, "-n", "50", *options.split())
    pair.check()
    for out in pair.out:
        assert "50 iters in" in out
    pair.replay()


def test_pingpong_by_events_and_gid(rdb_home: Path, tmp_path: Path) -> None:
    pair = record_pingpong("ibv_rc_pingpong", tmp_path, "-n", "50", "-e", "-g", "0")
    pair.check()
    pair.replay()


def test_devinfo(rdb: Rdb) -> None:
    done = rdb("run", "--hca=soft", "--hash-every=1", "--", "ibv_devinfo", "-v")
    assert done.returncode == 0, done.stderr
    assert "hca_id:\trdb0" in done.stdout
    assert "PORT_ACTIVE (4)" in done.stdout
    assert rdb("replay", "ibv_devinfo-1").returncode == 0


def test_without_a_device_there_is_none(rdb: Rdb) -> None:
    """As without rdb, unless the machine has one."""
    native = subprocess.run(["ibv_devinfo"], capture_output=True, text=True, check=False)
    done = rdb("run", "--", "ibv_devinfo")
    assert done.returncode == native.returncode
    assert done.stdout == native.stdout
    assert native.stderr in done.stderr


def test_choices(rdb: Rdb) -> None:
    assert rdb("run", "--hca=magic", "--", "/bin/true").returncode == 2
    refused = rdb("exec", "--hca=magic", "--", "/bin/true")
    assert refused.returncode == 2
    assert refused.stderr == "rdb: --hca magic: no such choice; write soft, real, auto\n"


def test_the_secret_is_its_owners_alone(rdb: Rdb, rdb_home: Path) -> None:
    assert rdb("run", "--hca=soft", "--", "ibv_devinfo").returncode == 0
    key = rdb_home / "hca.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32
    before = key.read_bytes()
    assert rdb("run", "--hca=soft", "--", "ibv_devinfo").returncode == 0
    assert key.read_bytes() == before


def test_the_state_at_any_event(record) -> None:  # type: ignore[no-untyped-def]
    record("verbs_rc.c").check()
    recording = open_job("client").rank(0)
    end = verbs_at(recording)
    assert not end.queue_pairs
    (gone,) = end.gone
    assert (gone.state, gone.send.posted, gone.send.completed) == ("destroyed", 6, 6)
    nr = 2 << 16 | Call.POST_SEND
    posts = [one for one in recording.records() if one.kind.name == "HYPERCALL" and one.nr == nr]
    assert len(posts) == 6
    third = posts[2].event
    before, after = verbs_at(recording, third - 1), verbs_at(recording, third)
    (old,), (new,) = before.queue_pairs.values(), after.queue_pairs.values()
    assert (old.type, old.state, len(old.send.outstanding)) == ("RC", "RTS", 0)
    assert (old.send.posted, old.send.completed) == (2, 2)
    assert [one.name for one in new.send.outstanding] == ["RDMA_WRITE_WITH_IMM"]
    assert new.send.outstanding[0].size_bytes == 300000
    assert recording.describe(third).endswith("RDMA_WRITE_WITH_IMM of 300000 bytes")
    other = open_job("server").rank(0)
    at_each = (verbs_at(other, at) for at in range(other.last_event, 0, -1))
    server = next(one for one in at_each if one.queue_pairs)  # the last that it was
    (peer,) = server.queue_pairs.values()
    assert (peer.number, new.number) == (new.peer, peer.peer)
    (region,) = after.regions.values()
    assert region.size_bytes == 1 << 20


def test_info_and_the_console_show_queue_pairs(record, rdb: Rdb, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    record("verbs_rc.c").check()
    recording = open_job("client").rank(0)
    nr = 2 << 16 | Call.POST_SEND
    events = [one.event for one in recording.records() if one.nr == nr]
    info = rdb("info", "client", "--at", str(events[3]))
    assert info.returncode == 0, info.stderr
    assert info.stdout.splitlines()[-1].split()[3:5] == ["RC", "RTS"]
    assert "1: RDMA_READ" in info.stdout
    assert rdb("info", "client").stdout.splitlines()[-1].split()[4] == "destroyed"
    script = tmp_path / "look.rdb"
    script.write_text(f"goto {events[3]}\nverbs\ngoto {events[0]}\nverbs\nundo\nverbs\n")
    shown = rdb("attach", "client", "-x", script)
    assert shown.returncode == 0, shown.stderr
    rows = [line for line in shown.stdout.splitlines() if " RTS " in line]
    assert ["RDMA_READ" in row for row in rows] == [True, False, True], shown.stdout


def test_verbs_events_are_found(record, rdb: Rdb) -> None:  # type: ignore[no-untyped-def]
    record("verbs_errors.c").check()

    def count(query: str) -> int:
        found = rdb("find-event", "client", query, "--json")
        assert found.returncode in (0, 1), found.stderr
        return found.stdout.count('"event"')

    assert count("verbs.post_send operation == 'SEND'") == 2
    assert count("verbs.post_send operation == 'RDMA_WRITE' and bytes == 8") == 1
    assert count("verbs.poll_cq status == 'WR_FLUSH_ERR'") == 1
    assert count("verbs.poll_cq status == 'REM_ACCESS_ERR'") == 1
    assert count("ibv_modify_qp state == 3 and result == 0") == 2
    assert count("verbs errno == 'EBUSY'") == 1
    assert count("mpi") == 0


def test_a_rank_in_an_mpi_call_is_written_to(build: Build, rdb: Rdb) -> None:
    """What arrives while a rank waits in MPI_Barrier is part of that call."""
    program = build("verbs_mpi.c", "-O1", LIBRARY, compiler="mpicc")
    done = rdb("run", "-n", "2", "--hca=soft", "--name", "mpi", "--hash-every=1", "--", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "sum 860160\n"
    barrier = next(
        one
        for one in open_job("mpi").rank(1).records()
        if one.kind.name == "HYPERCALL" and any(len(c.data) == 4096 for c in one.chunks if c.addr)
    )
    assert open_job("mpi").rank(1).describe(barrier.event).startswith("MPI_Barrier")
    replayed = rdb("replay", "mpi")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


def test_from_every_checkpoint(record, rdb: Rdb) -> None:  # type: ignore[no-untyped-def]
    record("verbs_channel.c", options=("--checkpoint-every=40events",)).check()
    assert len(open_job("client").rank(0).images) > 2
    for name in Pair.names:
        replayed = rdb("replay", name, "--checkpoint", "all")
        assert replayed.returncode == 0, replayed.stdout + replayed.stderr


def test_words_are_those_of_the_system_library() -> None:
    """Names of states and events, rates: for every value the same as rdma-core's."""
    theirs = ctypes.CDLL("libibverbs.so.1")
    ours = ctypes.CDLL(str(lib_dir() / "verbs" / "libibverbs.so.1"))
    names = ["node_type", "port_state", "event_type", "wc_status"]
    if hasattr(theirs, "ibv_wr_opcode_str"):  # not in rdma-core 44
        names.append("wr_opcode")
    for name in names:
        said = []
        for library in (theirs, ours):
            function = getattr(library, f"ibv_{name}_str")
            function.restype = ctypes.c_char_p
            said.append([function(value) or b"unknown" for value in range(-2, 40)])
        assert said[0] == said[1]
    for name in ("ibv_rate_to_mult", "ibv_rate_to_mbps", "mult_to_ibv_rate", "mbps_to_ibv_rate"):
        values = [*range(-2, 600), 14062, 25781, 53125, 112500, 309375, 1275000, 2500, 40000]
        assert [getattr(theirs, name)(v) for v in values] == [
            getattr(ours, name)(v) for v in values
        ]


def test_symbols_are_those_of_the_system_library() -> None:
    """Whatever was linked with rdma-core's finds its names and versions in ours."""

    def symbols(path: str) -> set[str]:
        listed = subprocess.run(
            ["objdump", "-T", path], capture_output=True, text=True, check=True
        ).stdout
        fields = [line.split() for line in listed.splitlines() if "IBVERBS_" in line]
        # in parentheses: of the ABI of before 2007
        return {" ".join(words[-2:]) for words in fields if not words[-2].startswith("(")}

    system = next(
        line.split(" => ")[1]
        for line in subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        if "libibverbs.so.1 " in line and "x86-64" in line
    )
    missing = symbols(system) - symbols(str(lib_dir() / "verbs" / "libibverbs.so.1"))
    assert {one for one in missing if "PRIVATE" not in one} == set()
