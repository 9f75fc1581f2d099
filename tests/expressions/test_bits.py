"""Predicates over std::vector<bool> and std::bitset, of libstdc++ and libc++."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from arrays import check, decided, stopped
from conftest import PROGRAMS, run_rdb
from gdbdriver import Gdb, Recorded

LIBRARIES = {"libstdc++": ["g++"], "libc++": ["clang++-14", "-stdlib=libc++"]}


@pytest.fixture(scope="module", params=LIBRARIES)
def gdb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    headers = Path("/usr/lib/llvm-14/include/c++/v1/bitset")
    if request.param == "libc++" and not headers.exists():
        pytest.skip(f"no {headers}")
    folder = tmp_path_factory.mktemp("bits")
    with stopped(folder, PROGRAMS / "bits.cc", *LIBRARIES[request.param]) as opened:
        yield opened


def test_values(gdb: Gdb) -> None:
    check(gdb, {
        "all(flags)": 0,
        "count(flags)": 127,
        "sum(!flags)": 3,
        "any(none)": 0,
        "all(none)": 1,
        "count(wide)": 67,
        "min(wide)": 0,
        "max(small + 2 * small)": 3,
        "sum(small) == 3": 1,
        "sorted(small)": 0,
        "allfinite(wide)": 1,
        "all(wide == wide && isfinite(wide))": 1,
    })  # fmt: skip


def test_elements(gdb: Gdb) -> None:
    assert decided(gdb, "all(flags)") == "['flags[99] = false']"
    assert decided(gdb, "all(wide)") == "['wide[64] = false']"
    assert decided(gdb, "sorted(small)") == "['small[3] = false']"


def test_what_is_refused(gdb: Gdb) -> None:
    assert "checksum" in gdb.fails("print checksum(flags)")
    assert "different shapes" in gdb.fails("print all(flags == small)")
    assert "divided" in gdb.fails("print all(small / 2 > 0)")


def test_bisect_and_find_event(tmp_path: Path) -> None:
    program, source = tmp_path / "program", PROGRAMS / "bits.cc"
    subprocess.run(["g++", "-g", "-O0", "-o", program, source], check=True)
    home = Recorded(tmp_path, program, source).home
    done = run_rdb(home, tmp_path, "bisect", "job", "count(small) < 2", "--json")
    (found,) = json.loads(done.stdout)["found"]
    assert found["verified_before"] and found["verified_after"], found
    done = run_rdb(home, tmp_path, "find-event", "job", "getppid any(!wide)", "--json")
    (row,) = json.loads(done.stdout)
    assert row["text"].endswith("wide[64] = false"), row
