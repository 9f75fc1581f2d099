"""A breakpoint at a function whose name a library has, too, stops in the program's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build
from gdbdriver import Gdb, Recorded

C = r"""
#include <error.h>
#include <unistd.h>
static int step(int n)
{
	return n * 3; /* @step */
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 4; i++) {
		sum += step(i);
		error(0, 0, "%d", sum);
	}
	return sum == 7;
}
"""


@pytest.fixture
def gdb(tmp_path: Path, build: Build) -> Iterator[Gdb]:
    source = tmp_path / "steps.c"
    source.write_text(C)
    recorded = Recorded(tmp_path, build(source, "-O0"), source)
    with recorded.gdb() as opened:
        yield opened


def test_the_programs_own_comes_first(gdb: Gdb) -> None:
    gdb.run("break main")
    gdb.run("continue")
    said = gdb.run("break step")
    assert "`enable 2.2` adds step of libc.so.6" in said
    rows = gdb.run("info breakpoints").splitlines()
    assert [row.split()[:2] for row in rows if row.startswith("2.")] == [["2.1", "y"], ["2.2", "n"]]
    gdb.run("enable 2.2")
    assert "2.2                         y" in gdb.run("info breakpoints")
    gdb.run("delete")
    gdb.run("undo")
    rows = gdb.run("info breakpoints").splitlines()
    assert [row.split()[1] for row in rows if ".2 " in row] == ["n"]
    # Of what only a library has nothing is taken away.
    assert "enable" not in gdb.run("break error")
    gdb.run("continue")
    assert gdb.function() == "step"
