"""Rows 15 (a receive), 31 and 32: the ranks of an MPI job, each alone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS, Build
from gdbdriver import DEADLINE_S, Gdb, Recorded
from scenario import everything, go, line_of

from rdb.recording import RankRecording, open_job
from rdb.session.session import Session
from rdb.session.state import RankState

PER_RANK = 12  # messages that a rank sends to rank 0
RECORDINGS = 5
RDB = (sys.executable, "-m", "rdb")


class Wildcard(Recorded):
    """Recordings of the same program, `w0`, `w1`, ..., and what each printed: its order."""

    def __init__(self, folder: Path, program: Path, source: Path, ranks: int, times: int) -> None:
        self.home = folder / "rdb-home"
        self.source = source
        self.folder = folder
        self.environment = {**os.environ, "RDB_HOME": str(self.home)}
        self.orders: list[list[int]] = []
        for number in range(times):
            how = ("--name", f"w{number}", "-n", str(ranks), "--hash-every", "1")
            done = self.rdb("run", *how, "--", str(program))
            assert done.returncode == 0, done.stderr
            self.orders.append([int(word) for word in done.stdout.split()])

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return deadlines.run([*RDB, *arguments], DEADLINE_S, env=self.environment, cwd=self.folder)

    def rank(self, number: int, rank: int) -> RankRecording:
        return open_job(self.home / f"w{number}").rank(rank)

    def open(self, number: int = 0, rank: int = 0) -> Gdb:
        return Gdb(f"w{number}", rank=rank, home=self.home)


def record(factory: pytest.TempPathFactory, build: Build, ranks: int, times: int) -> Wildcard:
    source = PROGRAMS / "mpi" / "scenario_wildcard.c"
    program = build(Path("mpi") / source.name, "-O0")
    return Wildcard(factory.mktemp("wildcard"), program, source, ranks, times)


@pytest.fixture(scope="module")
def wildcard(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Wildcard:
    return record(tmp_path_factory, build, ranks=3, times=RECORDINGS)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Wildcard:
    return record(tmp_path_factory, build, ranks=2, times=1)


def digest_of(order: list[int]) -> int:
    digest = 5381
    for one in order:
        digest = (digest * 33 + one) % 2**64
    return digest


def taken(gdb: Gdb, count: int) -> list[int]:
    return [gdb.integer(f"order[{index}]") for index in range(count)]


def test_row_15_a_receive_into_the_buffer_stops_at_its_event(wildcard: Wildcard) -> None:
    order = wildcard.orders[0]
    with wildcard.open() as gdb:
        go(gdb, wildcard, "received", "received == 6")
        after = gdb.state()["event"]
        gdb.run("watch *(long *) buffer")
        gdb.run("reverse-continue")
        # At the call of the receive; its answer is the next event.
        assert gdb.integer("buffer[0] * 100 + buffer[1]") == order[5]
        assert gdb.state()["event"] == after - 1
        assert wildcard.rank(0, 0).describe(after).startswith("MPI_Recv(")
        assert wildcard.at("receive") in gdb.run("backtrace")
        gdb.run("reverse-continue")
        assert gdb.integer("buffer[0] * 100 + buffer[1]") == order[4]
        assert gdb.state()["event"] < after - 1
        # Forward it stops after those events.
        gdb.run("continue")
        assert gdb.integer("buffer[0] * 100 + buffer[1]") == order[5]
        gdb.run("continue")
        assert gdb.integer("buffer[0] * 100 + buffer[1]") == order[6]
        assert gdb.state()["event"] == after
        said = gdb.run("last buffer")
        assert f"Changed by event {after}: MPI_Recv(" in said
        assert f"from rank {order[6] // 100}" in said


def test_row_31_undo_moves_one_rank_alone(pair: Wildcard) -> None:
    with pair.open(rank=0) as gdb, pair.open(rank=1) as other:
        go(other, pair, "sent", "sent == 5")
        stays = everything(other)
        gdb.run(f"break {pair.at('received')}")
        seen = []
        for count in range(4):
            gdb.run("continue")
            assert gdb.integer("received") == count
            seen.append(everything(gdb))
        gdb.run("undo 2")
        assert everything(gdb) == seen[1]
        assert everything(other) == stays
        assert gdb.state()["position"] != other.state()["position"]
        # Forward again the same messages come; none is lost, none twice.
        gdb.run("continue")
        assert everything(gdb) == seen[2]
        gdb.run("delete")
        gdb.run("goto END")
        assert taken(gdb, PER_RANK + 1) == [100 + index for index in range(PER_RANK)] + [0]
        assert everything(other) == stays
        other.run("continue")
        assert other.state()["at_end"]
        assert other.integer("sent") == PER_RANK
        assert other.integer("digest") == gdb.integer("digest")


def test_row_31_undo_in_a_session_over_both_ranks(pair: Wildcard) -> None:
    async def scenario() -> None:
        async with Session(open_job(pair.home / "w0"), at_end=False) as session:
            await session.set_focus([0, 1])
            for command in ("tbreak main", "continue"):
                assert (await session.run(command)).ok
            states = session.states
            assert {states[rank].place.function for rank in (0, 1)} == {"main"}
            await session.set_focus([1], "focus 1")
            for command in (f"tbreak {pair.at('sent')} if sent == 5", "continue"):
                assert (await session.run(command)).ok
            stays = session.states[1]
            assert stays.place.function == "give"
            await session.set_focus([0], "focus 0")
            visited: list[RankState] = []
            await session.run(f"break {pair.at('received')}")
            for _ in range(3):
                outcome = await session.run("continue")
                assert outcome.ok and outcome.moved == (0,)
                visited.append(session.states[0])
            travelled = await session.undo()
            assert [entry.text for entry in travelled.entries] == ["continue"]
            assert not travelled.errors and set(travelled.states) == {0}
            assert position(session.states[0]) == position(visited[1])
            assert session.states[1] == stays
            assert position(session.states[0]) != position(session.states[1])
            # The message that was taken back comes again, once.
            await session.run("continue")
            assert position(session.states[0]) == position(visited[2])
            assert await value(session, "received") == 2
            await session.run("delete")
            await session.run("continue")
            assert session.states[0].at_end
            assert await value(session, "received") == PER_RANK
            assert await value(session, "order[11]") == 111
            assert session.states[1] == stays

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_row_31_the_ranks_positions_are_shown(pair: Wildcard) -> None:
    script = pair.folder / "script"
    lines = ("goto START", f"tbreak {pair.at('received')}", "continue", "focus 0", "next", "ranks")
    script.write_text("\n".join((*lines, "undo", "ranks", "")))
    done = pair.rdb("attach", "w0", "-x", str(script))
    assert done.returncode == 0, done.stdout + done.stderr
    tables = done.stdout.split("> ranks")[1:]
    assert len(tables) == 2
    line = line_of(pair, "received")
    for table, place in zip(tables, (line + 1, line), strict=True):
        rows = {row.split()[-1]: row for row in table.splitlines() if "exited 0" in row}
        assert f"{pair.source.name}:{place}" in rows
        # Rank 1 never comes there: it is at its end, undo or not.
        assert [row for row in rows.values() if " end " in row]


def position(state: RankState) -> tuple[int, int, str]:
    return state.event, state.pc, state.position


async def value(session: Session, expression: str) -> int:
    outcome = await session.run(f"print {expression}")
    return int(outcome.answers[0].text.rpartition("=")[2])


def test_row_32_the_orders_differ(wildcard: Wildcard) -> None:
    everybody = sorted(100 * rank + index for rank in (1, 2) for index in range(PER_RANK))
    for order in wildcard.orders:
        assert sorted(order) == everybody
    assert len({tuple(order) for order in wildcard.orders}) > 1


@pytest.mark.parametrize("number", range(RECORDINGS))
def test_row_32_each_recording_replays_its_own_order(wildcard: Wildcard, number: int) -> None:
    order = wildcard.orders[number]
    done = wildcard.rdb("replay", f"w{number}", "--verify", "--times", "2", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(done.stdout)
    assert [(one["rank"], one["ok"]) for one in results] == [
        (rank, True) for rank in (0, 1, 2) for _ in range(2)
    ]
    # The memory was compared after every event of every rank.
    assert all(one["hashes"] >= one["events"] > 0 for one in results)
    printed = " ".join(map(str, order)) + "\n"
    with wildcard.open(number) as gdb:
        gdb.run("goto END")
        assert gdb.run("output --raw") == printed
        assert taken(gdb, len(order)) == order
        assert gdb.integer("digest") % 2**64 == digest_of(order)
    with wildcard.open(number, rank=2) as gdb:
        gdb.run("goto END")
        assert gdb.run("output --raw") == ""
        assert gdb.integer("digest") % 2**64 == digest_of(order)


def test_row_32_message_by_message_both_ways(wildcard: Wildcard) -> None:
    order = wildcard.orders[1]
    recording = wildcard.rank(1, 0)
    with wildcard.open(1) as gdb:
        gdb.run(f"break {wildcard.at('received')}")
        for one in order:
            gdb.run("continue")
            assert gdb.integer("buffer[0] * 100 + buffer[1]") == one
            received = recording.receives(gdb.state()["event"])
            assert [message.source for message in received] == [one // 100]
        for one in order[-2::-1]:
            gdb.run("reverse-continue")
            assert gdb.integer("buffer[0] * 100 + buffer[1]") == one
