"""rdb restart of programs that have ordinary files mapped shared, and memory with a name."""

from __future__ import annotations

import random
from pathlib import Path

import deadlines
import pytest
from conftest import Build
from trees import Recorded


@pytest.mark.parametrize("how", ["one", "closed", "two"])
def test_a_file_that_is_mapped(tmp_path: Path, build: Build, how: str) -> None:
    """A branch has its own, as it was then, and so has a branch of that, and of that one."""
    mapped = Recorded(tmp_path, str(build("live_mapped.c")), how)
    real, at_last = tmp_path / "mapped", (tmp_path / "mapped").read_bytes()
    assert mapped.said.endswith(f"status {7 if how == 'two' else 0}\n")
    chosen, name = random.Random(how), ""
    for at in mapped.events("getppid")[2:7:4]:
        name = mapped.restart(at).name
        (copy,) = (tmp_path / "home" / name).glob("rank-0/file-*-mapped")
        assert copy.read_bytes() == at_last and real.read_bytes() == at_last
    real.write_bytes(b"now it is something else")
    for _ in range(2):
        name = mapped.restart_near(chosen, name).name
    mapped.restart(0, name)


def test_a_page_behind_the_end_of_a_mapped_file(tmp_path: Path, build: Build) -> None:
    """The replay has closed it; in the branch it is there once the file has grown."""
    mapped = Recorded(tmp_path, str(build("live_file_end.c")))
    assert "before: signal 7\nthen: signal 7\ngrown: 120\nbehind: signal 7\n" in mapped.said
    mapped.restart(mapped.events("getppid")[0])


def test_more_files_than_a_short_list_holds(tmp_path: Path, build: Build) -> None:
    (tmp_path / "files").mkdir()
    many = Recorded(tmp_path, str(build("mapped_files.c")), str(tmp_path / "files"), "70")
    again = many.restart(many.events("getppid")[1])
    assert len(list((tmp_path / "home" / again.name).glob("rank-0/file-*"))) >= 70


def test_memory_that_a_child_does_not_have(tmp_path: Path, build: Build) -> None:
    """MADV_WIPEONFORK, also of mappings that moved, ended or were asked for before the cut."""
    program = str(build("wiped.c"))
    native = deadlines.native([program])
    job = Recorded(tmp_path, program)
    assert job.said == native.stdout
    assert job.rdb("replay", "job", "--verify").returncode == 0
    job.restart(job.events("madvise(")[-3])
    off = job.rdb("run", "--record=off", "--", program)
    assert off.stdout == native.stdout, off.stderr
