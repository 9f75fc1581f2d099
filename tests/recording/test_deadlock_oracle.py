"""`deadlock` against oracles, on random programs of 2 to 5 ranks.

`make test-oracles` plays 10,000 of them, and runs some dozens, `make test` a few.

mpi_player.py plays them and writes the log items that rdb would have recorded, so nothing is run.
That these are what rdb records is compared with real runs of some of the programs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import deadlines
import mpis
import pytest
from conftest import TIMEOUT_S, Build, Rdb
from mpi_matched import matched_program
from mpi_player import BACK, DUP, FREED, WIN, WORLD, Op, Player, Program
from mpi_player_kinds import (
    BCAST,
    CART,
    CLOSED,
    FILE,
    GATHER,
    INTER,
    MERGED,
    PORT,
    SCAN,
    remote,
)

from rdb.errors import RdbError
from rdb.recording import open_job
from rdb.recording.log.describe import call_name, mpi_functions, mpi_name
from rdb.recording.messages.matching import Matching, Taker, Way
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.wait_graph import WaitFor
from rdb.recording.messages.waiting import wait_for
from rdb.recording.mpi.communication import RankCommunication, What

PROGRAMS = int(os.environ.get("RDB_TEST_ORACLES", "400"))
AT_ONCE = 100
_BEFORE = 8  # calls of MPI that script.c makes before it plays
RUNS = (0, 1, 26, 38) if PROGRAMS < 10_000 else range(40)  # of programs that are run; two probe
FUTURES = 6
KINDS = ["send", "recv", "sendrecv", "isend", "irecv", "wait", "waitany", "barrier", "ibarrier"]
KINDS += [
    "probe",
    "mprobe",
    "rinit",
    "start",
    "cancel",
    "free",
    "poll",
    "fence",
    "post",
    "winstart",
]
MORE = ["lock", "flush", "unlock", "file", "ifile", "rooted", "irooted", "generalized", "completes"]
MORE += ["sinit", "again", "parts", "merge", "accept"]
WEIGHTS = (6, 6, 1, 5, 6, 4, 2, 2, 1, 1, 1, 1, 1, 1, 1, 0.3, 1, 1, 1)
MORE_WEIGHTS = (2, 1, 2, 1, 1, 2, 1, 0.5, 0.5, 1, 1, 1.5, 0.2, 0.1)
PLAIN = {*KINDS, "sinit", "merge"} - {"waitany", "cancel", "free", "poll", "fence", "post"}
PLAIN -= {"winstart"}


def random_program(seed: int, plain: bool = False) -> Program:
    """PLAIN: there is one way only in which it can end."""
    chance = random.Random(seed)
    if seed % 2 and not plain:
        return matched_program(chance)
    size = chance.randint(2, 3 if plain else 5)
    program = [_ops(chance, size, rank, plain) for rank in range(size)]
    return _completed(program) if plain else program


def _completed(program: Program) -> Program:
    """MPI does not say what MPI_Finalize does while something is under way (MPI-4.1, 11.2.2):
    MPICH 4.2 waits for ever then, or aborts."""
    player = Player(program, 0)
    player.play()
    left = [player.left(rank) for rank in player.ranks]
    if player.blocked() or not any(left):
        return program
    return _completed([ops + more for ops, more in zip(program, left, strict=True)])


def _ops(chance: random.Random, size: int, rank: int, plain: bool) -> list[Op]:
    ops: list[Op] = []
    names: list[int] = []
    persistent: list[int] = []
    partitioned: list[int] = []
    locked: list[tuple[int, bool]] = []

    def comm() -> int:
        return chance.choices((WORLD, DUP, BACK, INTER), (6, 2, 1, 1))[0]

    def peer(on: int) -> int:
        if on == INTER:
            return chance.randrange(len(remote(size, rank)))
        other = chance.choice([one for one in range(size) if one != rank])
        return size - 1 - other if on == BACK else other

    def source(on: int) -> int:
        return -1 if chance.random() < 0.35 and not plain else peer(on)

    def name() -> int:
        names.append(len(names))
        return names[-1]

    for _ in range(chance.randint(1, 6)):
        on = comm()
        kind = chance.choices([*KINDS, *MORE], (*WEIGHTS, *MORE_WEIGHTS))[0]
        if plain and kind not in PLAIN:
            continue
        if kind in ("barrier", "ibarrier") and on == INTER:
            on = DUP
        if plain and kind in ("barrier", "ibarrier"):
            # An MPI_Finalize may have a barrier of its own on the world, and the two do not match.
            on = DUP if kind == "barrier" else BACK
        tag = chance.randrange(2)
        wanted = -1 if chance.random() < 0.3 else tag
        mode = chance.choices("nsb", (6, 2, 1))[0]
        big = chance.random() < 0.4
        if kind == "send":
            ops.append(("send", mode, peer(on), tag, on, big and mode != "b", -1))
        elif kind == "isend":
            ops.append(("send", mode, peer(on), tag, on, big and mode != "b", name()))
        elif kind == "recv":
            ops.append(("recv", source(on), wanted, on, -1))
        elif kind == "irecv":
            ops.append(("recv", source(on), wanted, on, name()))
        elif kind == "sendrecv":
            ops.append(("sendrecv", peer(on), tag, source(on), wanted, on))
        elif kind in ("wait", "waitany") and names:
            some = chance.sample(names, chance.randint(1, len(names)))
            ops.append((kind, some))
        elif kind == "barrier":
            ops.append(("barrier", on))
        elif kind == "fence":
            ops.append(("barrier", WIN))
        elif kind in ("post", "winstart"):
            others = [one for one in range(size) if one != rank]
            group = sorted(chance.sample(others, chance.randint(1, len(others))))
            ops += [(kind, group), ("winwait", group) if kind == "post" else ("complete",)]
        elif kind == "ibarrier":
            ops.append(("ibarrier", on, name()))
        elif kind == "probe":
            ops.append(("probe", source(on), wanted, on))
        elif kind == "mprobe":
            ops += [("mprobe", source(on), wanted, on)]
            if chance.random() < 0.7 or plain:
                ops.append(("mrecv",))
        elif kind == "rinit":
            persistent.append(name())
            ops.append(("rinit", source(on), wanted, on, persistent[-1]))
            ops.append(("start", persistent[-1]))
        elif kind in ("cancel", "free", "poll") and names:
            ops.append((kind, chance.choice(names)))
        elif kind == "lock" and not locked:
            target = chance.choice((-1, *range(size)))
            locked.append((target, target >= 0 and chance.random() < 0.6))
            ops.append(("lock", *locked[0]))
        elif kind in ("flush", "unlock") and locked:
            ops.append((kind, *locked[0]))
            if kind == "unlock":
                locked.clear()
        elif kind == "file":
            ops.append(("rooted", FILE))
        elif kind == "ifile":
            ops.append(("ifile", name()))
        elif kind == "rooted":
            ops.append(("rooted", chance.choice((BCAST, GATHER, SCAN, CART, INTER))))
        elif kind == "irooted":
            ops.append(("irooted", chance.choice((BCAST, GATHER, SCAN, CART, INTER)), name()))
        elif kind in ("generalized", "completes"):
            ops.append((kind, name() if kind == "generalized" or not names else names[-1]))
        elif kind == "sinit":
            persistent.append(name())
            ops.append(("sinit", mode, peer(on), tag, on, big and mode != "b", persistent[-1]))
            if chance.random() < 0.8 or plain:
                ops.append(("start", persistent[-1]))
        elif kind == "again" and persistent:
            ops.append(("start", chance.choice(persistent)))
        elif kind == "parts":
            persistent.append(name())
            partitioned.append(persistent[-1])
            sends = chance.random() < 0.5
            ops.append(("parts", sends, peer(WORLD), tag, persistent[-1]))
            if chance.random() < 0.8:
                ops.append(("start", persistent[-1]))
            if sends:
                ops += [("ready", part, persistent[-1]) for part in range(chance.randint(0, 2))]
        elif kind == "merge":
            ops.append(("barrier", MERGED))
        elif kind == "accept":
            ops.append(("barrier", PORT))
    if not plain and chance.random() < 0.2:
        ops.append(("barrier", chance.choice((FREED, CLOSED))))
    return ops


def graph_of(player: Player) -> WaitFor:
    calls = {one.number: call for one in player.ranks if (call := player.call(one))}
    at = {one.number: one.event for one in player.ranks}
    ended = {one.number: "exited 0" for one in player.ranks if one.ended}
    return wait_for(player.messages(), at, calls, ended)


def check_quiet(player: Player) -> str:
    """Nothing can happen any more: the ranks that have not ended are deadlocked."""
    blocked = player.blocked()
    graph = graph_of(player)
    surely = set(graph.deadlocked)
    perhaps = {one.rank for one in graph.waiters if one.perhaps}
    assert surely <= blocked
    if not blocked:
        assert not graph.waiters and not graph.unknown
        return "ended"
    assert graph.unknown or surely == blocked, graph
    assert surely | perhaps >= blocked, graph
    return "unknown" if graph.unknown else "deadlock"


def check_cut(player: Player, seed: int) -> str:
    """Killed at any moment: who is deadlocked never goes on, however it might have gone on."""
    graph = graph_of(player)
    places = {one.number: one.at for one in player.ranks}
    for number in range(FUTURES):
        future = player.copy(seed + number)
        future.play()
        for rank in graph.deadlocked:
            assert future.ranks[rank].at == places[rank], (rank, graph)
    calls = [player.call(one) for one in player.ranks if not one.ended]
    waits = [call for call in calls if call and call.name != "MPI_Test"]
    if calls and len(waits) == len(calls) and not graph.deadlocked:
        assert graph.unknown, "each rank is in a call that waits"
    return "unknown" if graph.unknown else "deadlock" if graph.deadlocked else "none"


# What may have taken what, by its definition.


def in_order(
    taken: dict[int, Way | None], rows: list[Taker], sent: dict[Way, list[tuple[int, int]]]
) -> bool:
    counts: Counter[Way] = Counter()
    message: dict[int, tuple[int, int]] = {}
    for place, way in taken.items():
        if way is None:
            continue
        if not rows[place].accepts(way) or counts[way] >= len(sent.get(way, ())):
            return False
        message[place] = sent[way][counts[way]]
        counts[way] += 1
    took = {(way, message[place]): place for place, way in taken.items() if way is not None}
    for place, row in enumerate(rows):
        way = taken[place]
        for other, there in sent.items():
            if not row.accepts(other):
                continue
            for one in there:
                by = took.get((other, one))
                if way is None and not row.cancelled and (by is None or by > place):
                    return False  # it would have taken that, and before a later one did
                earlier = way is not None and other[0] == way[0] and one < message[place]
                if earlier and (by is None or by > place):
                    return False  # of one sender the first comes first
    return True


def check_matching(player: Player) -> int:
    """All the ways that the definition allows are the worlds, and what was played is one."""
    messages = player.messages()
    at = {one.number: one.event for one in player.ranks}
    calls = {one.number: call for one in player.ranks if (call := player.call(one))}
    matching = Matching(messages, at, {rank: (call,) for rank, call in calls.items()})
    worlds, more = matching.worlds()
    assert not more
    found = 0
    for (rank, comm), takers in matching.takers.items():
        if takers.base or not takers.by_request:
            continue
        rows, sent = takers.rows, matching.sent(rank, comm)
        choices = [[row.got] if row.done else [None, *sent] for row in rows]
        expected = set()
        for ways in itertools.product(*choices):
            taken = dict(enumerate(ways))
            if in_order(taken, rows, sent):
                expected.add(
                    frozenset(
                        (row.request, way)
                        for row, way in zip(rows, ways, strict=True)
                        if way is not None and not row.done
                    )
                )
        seen = {
            frozenset(
                (row.request, way)
                for row in rows
                if not row.done and (way := world.taken(rank, comm, row.request))
            )
            for world in worlds
        }
        if len(expected) > 1 and seen != expected:  # alike receives: which took which is open
            assert seen <= expected
            assert {_ways(one) for one in seen} == {_ways(one) for one in expected}
        else:
            assert seen == expected, (rank, comm, rows, sent)
        found += len(expected)
    return found


def _ways(one: frozenset[tuple[int, Way]]) -> frozenset[tuple[Way, int]]:
    return frozenset(Counter(way for _, way in one).items())


@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_ONCE))
def test_against_the_player(first: int) -> None:
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in range(first, min(first + AT_ONCE, PROGRAMS)):
        program = random_program(seed)
        player = Player(program, seed)
        player.play()
        cut = Player(program, seed + 1)
        cut.play(random.Random(seed).randrange(1, 40))
        cut.settle()
        try:
            said["quiet"][check_quiet(player)] += 1
            said["cut"][check_cut(cut, seed)] += 1
            said["ways"]["all"] += check_matching(player) + check_matching(cut)
        except AssertionError as error:
            raise AssertionError(f"program {seed}: {program}") from error
    assert said["quiet"]["deadlock"] > 10 * said["quiet"]["unknown"], said
    assert said["quiet"]["deadlock"] and said["cut"]["none"] and said["ways"]["all"]


def script(program: Program) -> str:
    """For script.c: a line for each operation, with its rank."""
    words = [
        f"{rank} {op[0]} " + " ".join(_word(one) for one in op[1:])
        for rank, ops in enumerate(program)
        for op in ops
    ]
    return "\n".join(words) + "\n"


def _word(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(int(value)) if isinstance(value, int) else str(value)


def noted(known: RankCommunication) -> list[tuple[object, ...]]:
    """What the log says of messages, without where in it."""
    making = {
        name
        for name in mpi_names()
        if name in ("MPI_Comm_dup", "MPI_Comm_split", "MPI_Intercomm_create", "MPI_Win_create")
        or name == "MPI_File_open"
    }
    found = []
    for place in range(known.count):
        one = known.item(place)
        if one.what == What.TEXT or mpi_name(one.nr) in making:
            continue
        what = What(one.what)
        row: tuple[object, ...] = (what.name, one.peer, one.tag, one.request)
        if what in (What.SEND, What.RECV):
            row += (one.size_bytes, one.order)
        if what not in (What.STARTED, What.DONE, What.CANCELLED):
            row += (known.communicator(one.comm).name.partition(" of ")[0][:7],)
        found.append(row)
    return found


def mpi_names() -> set[str]:
    return {str(one["name"]) for one in mpi_functions()}


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("seed", RUNS)
def test_what_is_played_is_what_is_recorded(
    seed: int, mpi: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    program = random_program(seed, plain=True)
    player = Player(program, seed)
    player.play()
    played = player.messages()
    expected = [(noted(played.communication(one.number)), _BEFORE + one.at) for one in player.ranks]
    path = tmp_path / "script"
    path.write_text(script(program))
    mpis.needs(mpi)
    command = [sys.executable, "-m", "rdb", "run", "--mpi", mpi, "--name", "it"]
    command += ["-n", str(player.size), "--"]
    command += [str(build("mpi/script.c", "-O1", compiler=f"mpicc.{mpi}")), str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    ) as run:
        deadline = deadlines.Deadline(TIMEOUT_S)
        try:
            while (found := _recorded(rdb_home / "it", player.size)) != expected:
                assert not deadline.over(), (found, expected, program)
                time.sleep(0.01)
            for rank in player.blocked():
                with contextlib.suppress(ProcessLookupError):  # mpiexec has seen the first end
                    os.kill(open_job(rdb_home / "it").rank(rank).meta["pid"], signal.SIGKILL)
        except BaseException:
            os.killpg(run.pid, signal.SIGKILL)
            raise
    done = rdb("deadlock", "it", "--json")
    graph = json.loads(done.stdout)["graph"]
    assert graph["deadlocked"] == sorted(player.blocked()), (program, graph)
    assert not graph["unknown"] and done.returncode == bool(player.blocked())


def _recorded(path: Path, size: int) -> list[tuple[list[tuple[object, ...]], int]]:
    """Of each rank its messages, and how many calls of MPI were answered."""
    found = []
    try:
        messages = Messages(open_job(path))
        for rank in range(size):
            records = open_job(path).rank(rank).records()
            calls = sum(
                one.repeat + 1 for one in records if (call_name(one) or "").startswith("MPI_")
            )
            found.append((noted(messages.communication(rank)), calls))
    except (RdbError, OSError):  # not there yet
        return []
    return found
