"""What it costs that each replay can compare what the program hands out (`rdb run --check`)."""

from __future__ import annotations

from bench.figures import Section
from bench.setup import Bench, run
from bench.sizes import by_size
from bench.ways import NATIVE, environment, scratch, through_mpi, through_rdb_exec

TITLE = "Checks of what is handed out: one write, and half a round trip of MPI"
_CHECKS = ("off", "sample", "full")


def measure(bench: Bench, section: Section) -> None:
    writes = str(bench.program("writes.c"))
    pingpong = str(bench.program("pingpong.c", compiler="mpicc"))

    def write(way: str, amounts: list[str]) -> str:
        with scratch(bench) as folder:
            line = through_rdb_exec(way, folder, *_options(way))
            return run([*line, writes, str(folder / "written"), *amounts])

    def turn(way: str, amounts: list[str]) -> str:
        with scratch(bench) as folder:
            line = through_mpi(way, folder, 2, *_options(way))
            return run([*line, pingpong, *amounts], env=environment(folder))

    by_size(bench, section, bench.scale.writes, {}, write, (NATIVE, *_CHECKS), "write ")
    by_size(bench, section, bench.scale.pingpong, {}, turn, (NATIVE, *_CHECKS), "MPI ")
    section.notes.append("sample, the default: of more than 64 KiB one cache line in up to 64")


def _options(way: str) -> list[str]:
    return [] if way == NATIVE else ["--check", way]
