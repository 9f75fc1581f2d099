"""A file that one process has mapped and another writes to: a replay shows what was seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from alone import Made, record
from conftest import Build, Rdb
from running import BuildText

WRITES = ["store", "pwrite", "writev", "copy", "truncate"]
MAPPED = ["shared", "private", "writable"]
MORE = ["", "thread", "exec", "large", "many"]
AWAITED = ["pipe", "spin", "signal"]


def each_write(tmp_path: Path, build: Build, order: str, awaited: str) -> None:
    """Every way to write, each with another way to map, and with more processes or bytes."""
    program = build("shown_elsewhere.c", "-O1", "-pthread", "-D_GNU_SOURCE")
    first = AWAITED.index(awaited)
    for number, written in enumerate(WRITES):
        more = MORE[(number + first) % len(MORE)]
        if (written, awaited) == ("truncate", "spin"):
            continue  # the spin would look behind the end of the file
        if (more, awaited) == ("many", "signal") or (more, order) == ("exec", "inherited"):
            more = ""
        words = [MAPPED[(number + first) % len(MAPPED)], order, written, awaited, more]
        folder = tmp_path / "-".join(words)
        folder.mkdir()
        native = deadlines.native([program, *words], cwd=folder)
        made = record(folder, "/usr/bin/env", "-C", folder, program, *words)
        assert made.result.returncode == 0, (words, made.result.stderr)
        assert made.result.stdout == native.stdout, words
        for place in sorted({path.parent for path in made.rank_dir.rglob("log-*.seg")}):
            code, answer = Made(place, made.files, made.result).verify()
            assert (code, answer["ok"]) == (0, True), (words, place, answer)
            assert not (place / "cautions").exists(), (words, place)


@pytest.mark.parametrize("awaited", AWAITED)
def test_mapped_before_another_opens_it(tmp_path: Path, build: Build, awaited: str) -> None:
    each_write(tmp_path, build, "early", awaited)


@pytest.mark.parametrize("awaited", AWAITED)
def test_mapped_while_another_has_it_open(tmp_path: Path, build: Build, awaited: str) -> None:
    each_write(tmp_path, build, "late", awaited)


@pytest.mark.parametrize("awaited", AWAITED)
def test_mapped_while_a_child_has_the_descriptor(
    tmp_path: Path, build: Build, awaited: str
) -> None:
    each_write(tmp_path, build, "inherited", awaited)


OUTSIDE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const int fd = open("file", O_RDONLY);
	volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	puts("mapped");
	fflush(stdout);
	while (getchar() != 'g')
		;
	if (argc > 1)
		munmap((void *)map, 4096);
	return 0;
}
"""


@pytest.mark.parametrize("unmaps", [False, True])
def test_a_file_that_is_written_from_outside_is_named(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, unmaps: bool
) -> None:
    program = build_text("outside", OUTSIDE, "-O1")
    (tmp_path / "file").write_bytes(bytes(4096))
    run_it = [sys.executable, "-m", "rdb", "run", "--name", "it", "--"]
    with subprocess.Popen(
        [*run_it, str(program), *["unmap"] * unmaps],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdin is not None and run.stdout is not None and run.stderr is not None
        assert run.stdout.readline() == "mapped\n"
        with (tmp_path / "file").open("r+b") as file:
            file.write(b"x")
        run.stdin.write("g")
        run.stdin.close()
        told = run.stderr.read()
    assert run.returncode == 0, told
    assert "0 may not replay" in told
    assert f"{tmp_path}/file, which is mapped, was written by processes outside this rank" in told
