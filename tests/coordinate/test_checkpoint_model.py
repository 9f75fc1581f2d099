"""The protocol of coordinated checkpoints, explored: every interleaving of small programs.

RDB_TEST_ORACLES=N (`make test-oracles`) also explores three ranks.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import pytest
from checkpoint_model import Machine, State, Wrong, explore, initial

from rdb.coordinate.board import _CLOCK, _HEAD, _SLOT

INTERPOSER = Path(__file__).parents[2] / "interposer"
MANY = "RDB_TEST_ORACLES" in os.environ
SLOT_BYTES = (_SLOT.size + 1000 * _CLOCK.size + 4095) & ~4095
ABSENT, RUNS, HELD, GONE = range(4)


class Board:
    """Asks interposer/restart/checkpoint/board.c, of which nothing is changed."""

    def __init__(self, folder: Path) -> None:
        source = next(INTERPOSER.rglob("board.c"))
        library = folder / "board.so"
        line = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-mfsgsbase", "-O1", "-shared", "-fPIC"]
        line += [f"-I{INTERPOSER}", str(source), "-o", str(library)]
        # What opens a file is not called.
        subprocess.run([*line, "-Wl,--unresolved-symbols=ignore-all"], check=True)
        self._c = ctypes.CDLL(str(library), os.RTLD_LAZY)
        for question in (self._c.board_behind, self._c.board_silent):
            question.restype = ctypes.c_bool
        self._known: dict[object, bool] = {}

    def behind(self, state: State, rank: int) -> bool:
        said = tuple((one.count, one.inside) for one in state.ranks)
        key = ("behind", said, rank)
        if key not in self._known:
            self._known[key] = self._c.board_behind(self._board(state), ctypes.c_uint(rank))
        return self._known[key]

    def silent(self, state: State) -> bool:
        key = ("silent", tuple((one.gone, one.mpi) for one in state.ranks))
        if key not in self._known:
            self._known[key] = self._c.board_silent(self._board(state))
        return self._known[key]

    def _board(self, state: State) -> ctypes.Array[ctypes.c_char]:
        """As rdb/coordinate/board.py reads it; the layout is checked in test_struct_mirrors.py."""
        size = len(state.ranks)
        data = ctypes.create_string_buffer(4096 + size * SLOT_BYTES)
        _HEAD.pack_into(data, 0, 0, 5, size, 1, 0, 0, 0, 0, b"")
        for number, rank in enumerate(state.ranks):
            at = 4096 + number * SLOT_BYTES
            now = GONE if rank.gone else HELD if rank.held else RUNS
            world = 7
            counts = (rank.moves, sum(rank.sent), sum(rank.received), int(rank.pending))
            rest = (rank.mpi, int(rank.away), 0, world * rank.inside, *[0] * 6, 1)
            _SLOT.pack_into(data, at, now, number + 1, b"host", *counts, *[0] * 6, *rest)
            _CLOCK.pack_into(data, at + _SLOT.size, world, rank.count)
        return data


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    return Board(tmp_path_factory.mktemp("board"))


def programs(*texts: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split()) for text in texts)


TWO = {
    "nothing": ("", "work"),
    "collectives": ("all", "work all"),
    "not held in a collective": ("all! work", "work all!"),
    "one leaves early": ("bcast0 work", "bcast0"),
    "messages": ("send1 recv1", "recv0 send0"),
    "a message and a collective": ("send1 all", "all recv0"),
    "init at different times": ("init work", "work init"),
    "from init to the end": ("init all final", "init all final"),
    "one dies": ("die", "work"),
}
THREE = {
    "collectives": ("all", "work all", "all"),
    "not held in a collective": ("all!", "work all!", "all!"),
    "a ring": ("send1 recv2", "recv0 send2", "recv1 send0"),
    "one computes": ("all", "work work all", "all"),
    "one dies": ("die", "recv2", "send1"),
    "one finalizes first": ("final", "work final", "final"),
    "init at different times": ("init", "work init", "init"),
}
CASES = [*TWO.values(), *(THREE.values() if MANY else ())]


@pytest.mark.parametrize("texts", CASES, ids=" | ".join)
def test_every_interleaving(texts: tuple[str, ...], board: Board) -> None:
    explored = explore(Machine(programs(*texts), board), initial(programs(*texts)))
    assert explored.images > 0, "some interleaving takes the checkpoint"


HOSTS = [("", "work"), ("work", "work"), ("all!", "all!")]
HOSTS += [("all", "all"), ("all! work", "work all!"), ("send1", "recv0")] if MANY else []


@pytest.mark.parametrize("texts", HOSTS, ids=" | ".join)
def test_every_interleaving_on_two_hosts(texts: tuple[str, ...], board: Board) -> None:
    machine = Machine(programs(*texts), board)
    assert explore(machine, initial(programs(*texts), hosts=True)).images > 0


@pytest.mark.slow
def test_a_rank_that_images_late_is_found(board: Board) -> None:
    both = programs("all", "work all")
    with pytest.raises(Wrong, match="images"):
        explore(Machine(both, board, images_late=True), initial(both, hosts=True))


def test_a_rank_that_leaves_without_the_lock_is_found(board: Board) -> None:
    both = programs("all", "work all")
    with pytest.raises(Wrong, match="goes on without the image"):
        explore(Machine(both, board, leaves_unlocked=True), initial(both))


def test_a_rank_that_never_comes_is_found(board: Board) -> None:
    both = programs("recv1", "work")
    with pytest.raises(Wrong, match="no way to the end"):
        explore(Machine(both, board), initial(both))
