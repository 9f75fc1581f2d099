"""The ways to run a program that are compared: native, through rdb unrecorded, recorded by mode.

They take turns, round by round, each round beginning with another one: what disturbs this machine
meanwhile disturbs them all, and a round's ratio is taken between neighbours in time.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.setup import Bench, BenchError, last_words
from rdb.launch.command import mpirun_environment, own_command
from rdb.paths import lib_dir, rdb_exec_path

NATIVE, PLAIN, RECORDED = "native", "plain", "recorded"
WAYS = (NATIVE, PLAIN, RECORDED)
ORDER = "order"  # --record=order
LEAN = "lean"  # --record=lean
MODES = (*WAYS, ORDER)  # of programs whose messages are what there is to record


def _rdb_exec(folder: Path, *options: str) -> list[str]:
    mpi = lib_dir() / "mpi" / "openmpi"
    rank, files = folder / "rank-0", folder / "files"
    rank.mkdir()
    files.mkdir()
    plugin = ["--mpi-lower", str(mpi / "lower.so"), "--mpi-stub", str(mpi / "libmpi.so.40")]
    return [
        str(rdb_exec_path()),
        *options,
        "--dir",
        str(rank),
        "--files",
        str(files),
        *plugin,
        "--",
    ]


def through_rdb_exec(way: str, folder: Path, *options: str) -> list[str]:
    """What to put before a program: the recorder itself, without the Python around it."""
    if way == NATIVE:
        return []
    return _rdb_exec(folder, *(["--record=off"] if way == PLAIN else options))


def through_mpi(way: str, folder: Path, ranks: int, *options: str) -> list[str]:
    """What to put before an MPI program.  Recorded, it is what a user types."""
    if way not in (NATIVE, PLAIN):
        how = [f"--record={way}"] if way in (ORDER, LEAN) else []
        return [*own_command(), "run", "-n", str(ranks), *how, *options, "--"]
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        raise BenchError("mpirun is not in PATH", "install openmpi-bin")
    line = [mpirun, "-n", str(ranks)]
    if ranks > len(os.sched_getaffinity(0)):
        line.append("--oversubscribe")
    # Where nothing is recorded the ranks may share a folder: nothing is written to it.
    return [*line, *through_rdb_exec(way, folder)]


def environment(folder: Path) -> dict[str, str]:
    return {**mpirun_environment(), "RDB_HOME": str(folder)}


@contextmanager
def scratch(bench: Bench) -> Iterator[Path]:
    """A folder for one run; recordings are not kept, they would fill the disk."""
    folder = Path(tempfile.mkdtemp(dir=bench.home))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def alternate(rounds: int, ways: Sequence[str], once: Callable[[str], None]) -> None:
    for number in range(rounds):
        first = number % len(ways)
        for way in itertools.chain(ways[first:], ways[:first]):
            once(way)


def timed(line: list[str], env: Mapping[str, str], said: Path) -> tuple[float, int]:
    """Seconds from the start to the end of a program, and its exit code; stderr goes to SAID.

    By posix_spawn (a vfork inside), so that little of Python's own time is in it.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(said), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
    ]
    start = time.perf_counter()
    pid = os.posix_spawnp(line[0], line, env, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    return time.perf_counter() - start, os.waitstatus_to_exitcode(status)


def must_succeed(line: Sequence[str], code: int, said: Path) -> None:
    if code != 0:
        words = last_words(said.read_text(errors="replace"))
        raise BenchError(f"{' '.join(line)} ended with {code}", words)
