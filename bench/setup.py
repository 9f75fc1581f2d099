"""What a run of the benchmarks works with: its size, a store of its own, the programs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rdb.errors import RdbError

ROOT = Path(__file__).resolve().parent.parent
_COMPILERS = {".c": "gcc", ".cc": "g++"}


class BenchError(RdbError):
    """A section could not be measured."""


@dataclass(frozen=True)
class Scale:
    """How much is measured: the whole, or only enough to see that everything works."""

    rounds: int  # of alternating runs
    starts: int  # of alternating starts of a program
    compute_turns: int
    calls: int
    pingpong: tuple[tuple[int, int], ...]  # (bytes, turns)
    bandwidth: tuple[tuple[int, int], ...]  # (bytes, turns)
    allreduce: tuple[tuple[int, int], ...]  # (bytes, turns)
    windows: tuple[tuple[int, int], ...]  # (bytes, turns)
    lammps_steps: int
    reads: tuple[tuple[int, int], ...]  # (bytes, turns)
    writes: tuple[tuple[int, int], ...]  # (bytes, turns)
    rewritten_mb: int
    appends: int
    files: int  # in a tree
    thread_turns: int
    spin_part: int  # of the steps of each kernel: 1 / spin_part
    heat_size: int
    heat_steps: int
    small_mb: int
    big_mb: int
    rank_rounds: int
    hot_turns: int
    checkpoint_sizes_mb: tuple[int, ...]
    checkpoint_rounds: int
    session_ranks: int
    log_turns: int
    answers_events: tuple[int, ...]
    answers_rounds: int
    answers_languages: tuple[str, ...]
    responses: int  # of each command, at most
    budget_s: float  # for one command's responses

    @property
    def rank_sizes_mb(self) -> tuple[int, int]:
        return (self.small_mb, self.big_mb)


FULL = Scale(
    rounds=7,
    starts=15,
    compute_turns=15_000,
    calls=200_000,
    pingpong=((8, 20_000), (65_536, 1_000), (1 << 20, 100)),
    bandwidth=((8, 1_000), (4096, 500), (65_536, 50), (1 << 20, 10)),
    allreduce=((8, 20_000), (65_536, 500)),
    windows=((8, 5_000), (4096, 1_000), (65_536, 100), (1 << 20, 10)),
    lammps_steps=200,
    reads=((4096, 20_000), (65_536, 2_000), (1 << 20, 200)),
    writes=((1024, 50_000), (65_536, 2_000), (1 << 20, 200)),
    rewritten_mb=256,
    appends=100_000,
    files=5_000,
    thread_turns=20_000,
    spin_part=1,
    heat_size=1024,
    heat_steps=600,
    small_mb=10,
    big_mb=1024,
    rank_rounds=20_000,
    hot_turns=10_000_000,
    checkpoint_sizes_mb=(100, 1024),
    checkpoint_rounds=5,
    session_ranks=64,
    log_turns=200_000,
    answers_events=(1_000, 10_000, 100_000, 1_000_000),
    answers_rounds=1,
    answers_languages=("c", "cc", "f90", "py"),
    responses=200,
    budget_s=12.0,
)
QUICK = Scale(
    rounds=1,
    starts=1,
    compute_turns=500,
    calls=5_000,
    pingpong=((8, 500), (65_536, 100), (1 << 20, 20)),
    bandwidth=((8, 50), (65_536, 10)),
    allreduce=((8, 500), (65_536, 50)),
    windows=((8, 50), (65_536, 10)),
    lammps_steps=10,
    reads=((4096, 500), (65_536, 50), (1 << 20, 20)),
    writes=((1024, 200), (65_536, 20), (1 << 20, 10)),
    rewritten_mb=4,
    appends=1_000,
    files=200,
    thread_turns=500,
    spin_part=40,
    heat_size=64,
    heat_steps=20,
    small_mb=10,
    big_mb=64,
    rank_rounds=500,
    hot_turns=100_000,
    checkpoint_sizes_mb=(10,),
    checkpoint_rounds=6,
    session_ranks=3,
    log_turns=500,
    answers_events=(1_000,),
    answers_rounds=1,
    answers_languages=("c",),
    responses=3,
    budget_s=2.0,
)


@dataclass(frozen=True)
class Bench:
    """Handed to every section."""

    scale: Scale
    home: Path  # the store of recorded jobs
    built: Path  # the folder of the programs
    say: Callable[[str], None]  # progress

    @staticmethod
    def source(name: str) -> Path:
        return ROOT / "bench" / "programs" / name

    def program(self, source: str, *flags: str, compiler: str | None = None) -> Path:
        """A program of bench/programs, built once."""
        path = self.source(source)
        compiler = compiler or _COMPILERS[path.suffix]
        out = self.built / f"{path.name.replace('.', '-')}-{compiler}"
        if not out.exists():
            command = [compiler, "-O2", "-g", "-Wall", "-Wextra"]
            run([*command, "-o", str(out), str(path), *flags, "-lm"], cwd=self.built)
        return out


def run(
    command: list[str], timeout_s: float = 120, codes: Sequence[int] = (0,), **options: object
) -> str:
    """Standard output of a command that must end with one of these exit codes."""
    done = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, text=True, timeout=timeout_s, check=False, **options
    )
    if done.returncode not in codes:
        raise BenchError(
            f"{' '.join(command)} ended with {done.returncode}", last_words(done.stderr)
        )
    return str(done.stdout)


def last_words(text: str) -> str | None:
    """What a program that failed said about it."""
    lines = [line for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-6:]) or None
