"""Pages behind the end of mapped files raise SIGBUS: natively, recorded and replayed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import deadlines
import pytest
from alone import Made, record, verify_all
from conftest import Build

from rdb.paths import rdb_exec_path


def natively(program: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return deadlines.run([program, folder / "native", *more], 60)


def test_the_end_moves(tmp_path: Path, build: Build) -> None:
    program = build("file_end.c", "-O1", "-w")
    expected = natively(program, tmp_path).stdout
    assert expected.count("SIGBUS") > 500
    options = ("--checkpoint-every", "100")
    made = record(tmp_path, program, tmp_path / "file", hash_every=20, options=options)
    assert (made.result.returncode, made.result.stdout) == (0, expected)
    verify_all(made, "file_end")


def test_unrecorded(tmp_path: Path, build: Build) -> None:
    program = build("file_end.c", "-O1", "-w")
    expected = natively(program, tmp_path).stdout
    options = ("--record=off", "--checkpoint-every", "40")
    made = record(tmp_path, program, tmp_path / "file", options=options)
    assert (made.result.returncode, made.result.stdout) == (0, expected)


@pytest.mark.parametrize("how", ["p", "s", "pr", "sr", "pc", "sc", "prc", "src"])
def test_death(tmp_path: Path, build: Build, how: str) -> None:
    """Private or shared, read only or not, cut while it is mapped or not."""
    program = build("file_end.c", "-O1", "-w")
    assert natively(program, tmp_path, how).returncode == -7  # SIGBUS
    made = record(tmp_path, program, tmp_path / "file", how)
    assert made.result.returncode in (-7, 135)
    verify_all(made, how)


@pytest.mark.parametrize("how", ["untouched", "stored", "touched"])
def test_cut_by_another_process(tmp_path: Path, build: Build, how: str) -> None:
    """Hashes of memory leave out what is behind the end, also if the program never looks there."""
    program, file = build("file_cut_outside.c", "-O1"), tmp_path / "file"
    file.write_bytes(b"x" * 4 * 4096)
    rank_dir, files = tmp_path / "rank-0", tmp_path / "files"
    rank_dir.mkdir()
    files.mkdir()
    line = ["--dir", rank_dir, "--files", files, "--hash-every", "1", "--", program, file, how]
    with subprocess.Popen(
        [rdb_exec_path(), *line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin and running.stdout
        assert running.stdout.readline() == "mapped\n"
        os.truncate(file, 4096)
        said, _ = deadlines.communicate(running, 60, "cut\n")
    expected = "SIGBUS\ndone\n" if how == "touched" else "done\n"
    assert (running.returncode, said) == (0, expected)
    verify_all(Made(rank_dir, files, subprocess.CompletedProcess(line, 0)), how)


def test_what_the_program_sees_of_them_in_proc(tmp_path: Path, build: Build) -> None:
    program = build("file_end_maps.c", "-O1")
    expected = natively(program, tmp_path).stdout.replace("/native", "/file")
    assert expected.count("0-6 ") >= 2
    made = record(tmp_path, program, tmp_path / "file")
    assert (made.result.returncode, made.result.stdout) == (0, expected)
    verify_all(made, "maps")


def test_cut_while_an_image_is_not_written_on(tmp_path: Path, build: Build) -> None:
    """Whoever writes it is stopped: the checkpoint is given up, and the program goes on."""
    program = build("file_cut_stopped.c", "-O1")
    made = record(tmp_path, program, tmp_path / "file", options=("--checkpoint-every", "1s"))
    assert (made.result.returncode, made.result.stdout) == (0, "cut\n"), made.result
    assert "is given up: the process that writes it hangs" in made.result.stderr
    verify_all(made, "stopped")


@pytest.mark.parametrize("unmapped", [(), ("unmapped",)])
@pytest.mark.parametrize("how", ["ftruncate", "truncate", "open"])
def test_cut_while_an_image_is_written(
    tmp_path: Path, build: Build, how: str, unmapped: tuple[str, ...]
) -> None:
    """The image has what was stored there before, by a process that still maps it."""
    program = build("file_cut.c", "-O1", "-w")
    options = ("--checkpoint-every", "3")
    made = record(tmp_path, program, tmp_path / "file", how, *unmapped, options=options)
    assert (made.result.returncode, made.result.stdout) == (0, "done\n")
    verify_all(made, how)


@pytest.mark.parametrize("where", ["", "/dev/shm"])
def test_a_mapping_that_is_nearly_all_hole(where: str, tmp_path: Path, build: Build) -> None:
    """Neither what is behind the end nor a hole is read, on disk and on a tmpfs."""
    program = build("far_mapped.c", "-O1")
    with tempfile.TemporaryDirectory(dir=where or tmp_path) as folder:
        expected = deadlines.run([program, folder], 60).stdout
        made = record(tmp_path, program, Path(folder))
    assert (made.result.returncode, made.result.stdout) == (0, expected)
    verify_all(made, "far")
