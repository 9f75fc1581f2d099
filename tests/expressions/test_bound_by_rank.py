"""A name that means different variables in different ranks: each answer says so."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import run_rdb
from gdbdriver import in_console

C = """
#include <stdlib.h>
#include <unistd.h>
static int top = 3;
static int worker(void)
{
	int height = 100;
	while (height > 80) {
		height -= 4;
		top++;
		getppid();
	}
	return height;
}
static int master(void)
{
	int height = 0;
	while (height < 8) {
		height++;
		getppid();
	}
	return height;
}
int main(void)
{
	int end = atoi(getenv("OMPI_COMM_WORLD_RANK")) ? worker() : master();
	return end == 1;
}
"""
MASTER, WORKER = "height in master, roles.c:17", "height in worker, roles.c:7"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roles")
    (folder / "roles.c").write_text(C)
    subprocess.run(["gcc", "-g", "-O0", "-o", "roles", "roles.c"], check=True, cwd=folder)
    run_rdb(folder / "home", folder, "run", "-n", "3", "--name", "job", "--", "./roles")
    return folder / "home"


@pytest.mark.slow
def test_in_the_shell(home: Path) -> None:
    said = run_rdb(home, home, "bisect", "job", "height < 5 || height > 90").stdout
    assert f"not the same variable in all ranks (0: {MASTER}; 1-2: {WORKER})" in said
    assert "not the same" not in run_rdb(home, home, "bisect", "job", "top < 6").stdout
    found = json.loads(run_rdb(home, home, "bisect", "--json", "job", "height != 5").stdout)
    bound = {one["rank"]: one["bound"] for one in (*found["found"], *found["not_found"])}
    assert bound == {0: MASTER, 1: WORKER, 2: WORKER}
    said = run_rdb(home, home, "find-event", "job", "getppid and height > 90").stderr
    assert f"rdb: not the same variable in all ranks (0: {MASTER}; 1-2: {WORKER})" in said


def test_in_the_console(home: Path) -> None:
    lines = ["goto 4", "plot height", "diff height 0 2", "diff height 1 2", "print --stats height",
             "defset some height > 50", "watch height",
             "find-event getppid and height > 0"]  # fmt: skip
    said = in_console(home, "job", lines)[1:]
    for one in (said[0], said[3], said[4]):
        assert f"0: {MASTER}\n1-2: {WORKER}\n" in one
    assert f"0: {MASTER}\n2: {WORKER}\n" in said[1] and MASTER not in said[2]
    for one in said[5:]:
        assert f"({MASTER})" in one and f"({WORKER})" in one
