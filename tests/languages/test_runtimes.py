"""Run-time systems with threads of their own: recordings of them replay."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, Rdb, replay_agrees
from spinning import PROGRAM, STEPS, gives_way

pytestmark = pytest.mark.languages

RECORDINGS = 3


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("kernel", STEPS)
def test_openmp_of_clang(kernel: str, flag: str, build: Build, rdb: Rdb) -> None:
    gives_way(build(PROGRAM, flag, "-fopenmp", compiler="clang"), kernel, rdb)


def test_java(tmp_path: Path, rdb: Rdb) -> None:
    subprocess.run(["javac", "-d", tmp_path, PROGRAMS / "languages/Hello.java"], check=True)
    for n in range(RECORDINGS):
        done = rdb("run", "--hash-every", 1000, "--name", n, "--", "java", "-cp", tmp_path, "Hello")
        assert (done.returncode, done.stdout) == (0, "Hello 10000\n"), done.stderr
        replay_agrees(rdb, n)
