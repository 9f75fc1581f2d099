"""Marks and trampolines: a loop stopped by a signal stops at the same arrival in its next run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import deadlines
import pytest

ROOT = Path(__file__).parents[2]
LOWER = [
    *(
        "marks/mark_trace",
        "seek/mark_learn",
        "marks/mark_pages",
        "marks/spin",
        "arch/x86_64/text/string_insn",
        "seek/trampoline",
        "arch/x86_64/text/trampoline_plan",
        "arch/x86_64/text/trampoline_code",
    ),
    *(
        "base/descriptors",
        "seek/trampoline_place",
        "arch/x86_64/text/decode",
        "arch/x86_64/text/emulate",
        "text/fetch",
        "arch/x86_64/text/integer",
        "space/maps",
        "space/patches",
        "arch/x86_64/text/alu",
        "arch/x86_64/text/vector",
        "arch/x86_64/text/registers",
        "arch/x86_64/base/registers",
        "arch/x86_64/base/xstate",
        "base/spans",
        "space/upper_memory",
        "space/arena",
    ),
]
FLAGS = [
    *("-std=gnu17", "-g", "-O1", "-D_GNU_SOURCE", "-msse4.2", "-mfsgsbase", "-fno-pie", "-no-pie"),
    *("-Wall", "-Wextra", "-Wno-unused-parameter", "-fno-strict-aliasing"),
    *("-fno-stack-protector", "-fcf-protection=none"),
    *("-ffunction-sections", "-Wl,--gc-sections"),  # what is not called needs nothing else
]
POINTS = 12


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("marks") / "marks"
    names = [*(f"{name}.c" for name in LOWER), "arch/x86_64/text/shift_forms.S"]
    sources = [ROOT / "interposer" / name for name in names]
    subprocess.run(
        [
            *("gcc", *FLAGS, "-I", ROOT / "interposer", ROOT / "tests/programs/marks.c"),
            *(*sources, "-o", program),
        ],
        check=True,
    )
    return program


def numbers(line: str) -> dict[str, int]:
    return {name: int(value, 0) for name, value in re.findall(r"(\w+)=(\w+)", line)}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stops_at_the_same_arrival(marks: Path, seed: int) -> None:
    done = deadlines.run([marks, str(seed), str(POINTS)], 240)
    assert done.returncode == 0, done.stderr
    loops = {line.split()[0]: numbers(line) for line in done.stdout.splitlines()}
    assert len(loops) == 26
    total = {key: sum(loop[key] for loop in loops.values()) for key in loops["tight"]}
    assert total["mismatches"] == 0
    points = {}
    for name, loop in loops.items():
        points[name] = loop["trampolines"] + loop["int3"] + loop["unsupported"]
        assert points[name] >= POINTS, name
        assert loop["trampolines"] >= POINTS // 4, name
        # what else to compare is learned from eight arrivals; a point may come before the eighth
        taken_for_it = 8 * loop["learned"] + 7 * points[name]
        most = 2 * points[name] + taken_for_it + loop["int3"] * 10**6
        assert name == "recursion" or loop["traps"] <= most, name
    assert loops["counted_far_off"]["learned"] > 0
    assert loops["counted_far_off"]["learned"] <= 2 * points["counted_far_off"]
    assert total["int3"] + total["unsupported"] < sum(points.values()) // 4
    # signals hit trampoline code, and the program jumped into the middle of patches
    assert total["inside"] > 0
    assert total["faults"] > 0


@pytest.mark.parametrize("address", [0x102000000000, 0x110040000000])
def test_in_the_arena_below_used_memory(marks: Path, address: int) -> None:
    done = deadlines.run([marks, "4", str(POINTS), "all", hex(address)], 240)
    assert done.returncode == 0, done.stderr
    loops = {line.split()[0]: numbers(line) for line in done.stdout.splitlines()}
    assert len(loops) == 16
    for name, loop in loops.items():
        assert loop["mismatches"] == 0, name
        assert loop["trampolines"] >= POINTS // 4, name


def test_cost_is_measured(marks: Path) -> None:
    done = deadlines.run([marks, "cost"], 60)
    assert done.returncode == 0, done.stderr
    names = {"bare", "register", "word", "counter", "arm", "mark_here_equal", "mark_here_other"}
    assert set(re.findall(r"(\w+)=", done.stdout)) == names
