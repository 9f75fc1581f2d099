"""The benchmarks run and every section yields its numbers; how big they are is not asserted."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import deadlines
import pytest

from bench.figures import percentile, ratio
from bench.run import FORMAT, SECTIONS
from bench.sections import spins

ROOT = Path(__file__).resolve().parents[2]
SIZES_MB = {
    "checkpoints": {10},
    "hot": {0},
    "session": {0},
    "answers": {0},
    "logs": {0},
}  # of --quick
_USUAL_MB = {10, 64}
WAYS = {"plain", "recorded"}
MODES = {
    "pingpong",
    "bandwidth",
    "tcp",
    "allreduce",
    "windows",
    "lammps",
}  # have --record=order, too
CHECKS = {"off", "sample", "full"}  # ways of the section "outputs"
WINDOWS = ("8 B", "64 KiB")
OUTPUTS = [("write", "1 KiB"), ("write", "1 MiB"), ("MPI", "8 B"), ("MPI", "1 MiB")]
RATIOS = {
    "calls": {"compute loop", "getppid", "clock_gettime", "poll, in vain"},
    "reads": {"4 KiB", "64 KiB", "1 MiB"},
    "outputs": {f"{what} {size}" for what, size in OUTPUTS},
    "rewrites": {"rewrite", "rewrite again", "4 KiB of a large file", "append of 64 B"},
    "trees": {"find", "git status"},
    "threads": {"hand-over between two", "lock that four want"},
    "spins": {f"{name} ({by})" for name, _ in spins.STEPS.values() for by in spins.COMPILERS},
    "startup": {"true", "C++ program", "python3"},  # and MPI_Init, by `rdb run` alone
    "pingpong": {"8 B", "64 KiB", "1 MiB"},
    "bandwidth": {f"{how} {size}" for how in ("window", "halo", "alltoall") for size in WINDOWS},
    "tcp": {"8 B", "64 KiB", "1 MiB"},
    "allreduce": {"8 B", "64 KiB"},
    "windows": {f"{how}{size}" for how in ("", "both ways, ", "gaps, ") for size in WINDOWS},
    "lammps": {"melt"} if shutil.which("lmp") else set[str](),
    "verbs": {"8 B", "64 KiB", "1 MiB"},
    "heat": {"20 steps", "1 step"},
}
RESPONSES = {
    "checkpoints": {"stop, 4 KiB pages", "stop, huge pages", "restore", "first restore, checked"},
    "timeline": {"reverse-stepi", "reverse-continue", "undo", "seek by events"},
    "gdb": {"reverse-step", "reverse-continue", "undo", "seek by events"},
    "hot": {
        "reverse-continue, 1 of 10000 hits",
        "reverse-stepi there",
        "reverse-next there",
        "record full: reverse-stepi",
        "record full: reverse-next",
    },
    "session": {
        "first prompt",
        "where, the first time",
        "where",
        "focus on one rank",
        "reverse-next",
    },
    "answers": {
        "c: bisect a static, 1,000 events",
        "c: bisect a local, 1,000 events",
        "c: bisect a name that is not there, 1,000 events",
        "c: find-event, 1,000 events",
        "c: messages, 1,000 events",
        "c: deadlock, 1,000 events",
        "c: attach and quit, 1,000 events",
    },
    "logs": {"find-event, an argument", "find-event, a message", "messages", "timeline"},
}

# Not with --quick, but a note.
LONG = {"rdma", "instructions", "coordinated", "peers", "minute", "chaos"}
ONCE_QUICK = {"hot", "session", "answers", "logs"}
ONCE = {"open", "first goto END", "first restore, checked"}


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("bench")
    done = deadlines.run(
        [sys.executable, "-m", "bench", "--quick", "--json", "--dir", str(folder)], 400, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [], "recordings were left behind"
    whole: dict[str, Any] = json.loads(done.stdout)
    return whole


def _section(figures: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [section for section in figures["sections"] if section["name"] == name]
    assert found["error"] is None
    return dict(found)


@pytest.mark.slow
def test_whole(figures: dict[str, Any]) -> None:
    assert figures["format"] == FORMAT and figures["quick"]
    assert [section["name"] for section in figures["sections"]] == list(SECTIONS)
    assert {*RATIOS, *RESPONSES, *LONG} == set(SECTIONS)
    for name in LONG:
        assert _section(figures, name)["notes"]
    for name in ("cpu", "cores", "kernel", "gdb", "mpi", "revision"):
        assert figures["machine"][name]


@pytest.mark.slow
@pytest.mark.parametrize("name", RATIOS)
def test_ratios(figures: dict[str, Any], name: str) -> None:
    rows = _section(figures, name)["ratios"]
    found = {(row["what"], row["way"]) for row in rows}
    ways = CHECKS if name == "outputs" else WAYS | {"order"} if name in MODES else WAYS
    assert {(what, way) for what in RATIOS[name] for way in ways} <= found
    for row in rows:
        assert row["native_s"] > 0 and row["way_s"] > 0 and row["ratio"] > 0 and row["n"] >= 1
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pingpong", "allreduce"])
def test_log_growth(figures: dict[str, Any], name: str) -> None:
    rows = _section(figures, name)["logs"]
    modes = {f"{what}{mode}" for what in RATIOS[name] for mode in ("", ", order")}
    assert {row["what"] for row in rows} == modes
    sizes = {row["what"]: row["bytes_per_event"] for row in rows}
    assert sizes["64 KiB, order"] < sizes["64 KiB"] / 10
    for row in rows:
        assert row["events"] > 0 and row["bytes_per_event"] > 0 and row["bytes_per_s"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", RESPONSES)
def test_responses(figures: dict[str, Any], name: str) -> None:
    rows = _section(figures, name)["responses"]
    found = {(row["what"], row["rank_mb"]) for row in rows}
    assert {(what, mb) for what in RESPONSES[name] for mb in SIZES_MB.get(name, _USUAL_MB)} <= found
    for row in rows:
        assert 0 < row["median_s"] <= row["p99_s"] <= row["max_s"]
        assert row["n"] >= 3 or row["what"] in ONCE or name in ONCE_QUICK


def test_ratio_is_taken_round_by_round() -> None:
    row = ratio("x", "plain", [1.0, 10.0, 2.0], [2.0, 20.0, 8.0])
    assert (row.ratio, row.native_s, row.way_s, row.n) == (2.0, 2.0, 8.0, 3)


def test_percentile_is_a_measured_value() -> None:
    assert percentile([3.0, 1.0, 2.0], 99) == 3.0
    assert percentile([float(i) for i in range(1, 201)], 99) == 198.0
    assert percentile([1.0], 25) == 1.0
