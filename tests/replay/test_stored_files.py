"""Files that a recording keeps of what programs map: one that was changed is not taken for it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.errors import DamagedRecording
from rdb.recording.stored import check_all_stored, check_stored

SEED = 11
FLIPS = 200


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """$RDB_HOME with a program that maps a library in the middle of its run."""
    home = tmp_path_factory.mktemp("home")
    script = "import os; os.getppid(); import _lsprof; print(_lsprof.Profiler and 'x')"
    done = run_rdb(home, home, "run", "--name", "job", "--", "/usr/bin/python3", "-c", script)
    assert done.returncode == 0 and "x\n" in done.stdout, done.stderr
    return home


@pytest.fixture
def home(recorded: Path, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(recorded / "job", tmp_path / "home/job")
    (tmp_path / "home").chmod(0o700)
    tmp_path.chmod(0o700)
    yield tmp_path / "home"


def flip(path: Path, at: int, bit: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))


def stored(home: Path, name: str) -> Path:
    (found,) = (home / "job/files").glob(f"{name}*")
    return found


def test_each_flipped_bit_is_noticed(home: Path) -> None:
    chance = random.Random(SEED)
    files = home / "job/files"
    check_all_stored(files)
    every = sorted(files.iterdir())
    assert len(every) > 4
    for turn in range(FLIPS):
        path = every[turn % len(every)]
        last = path.stat().st_size - 1
        at = (0, last)[turn % 2] if turn < 2 * len(every) else chance.randint(0, last)
        bit = chance.randrange(8)
        flip(path, at, bit)
        with pytest.raises(DamagedRecording, match="is not what was recorded: expected"):
            check_stored(path)
        flip(path, at, bit)
    check_all_stored(files)


# mapped at the beginning: nothing opens; later: it opens at its start, and not at its end
@pytest.mark.parametrize(("name", "code"), [("libc.so.6", 5), ("_lsprof", 1)])
def test_commands_name_an_altered_file(home: Path, name: str, code: int) -> None:
    path = stored(home, name)
    flip(path, path.stat().st_size // 2)
    said = f"{path} is not what was recorded: expected {path.stat().st_size} bytes, CRC-32C "
    commands = (
        ["restart", "job", "--at", "20"],
        ["restart", "job", "--at", "20", "--plan"],
        ["replay", "job"],
        ["pack", "job", "-o", str(home / "x.pack")],
    )
    for command in commands:
        done = run_rdb(home, home, *command)
        assert done.returncode == 5, (command, done.stderr)
        assert said in done.stderr and "put it back from a copy" in done.stderr, command
        assert done.stderr.count("\n") == 1
    (home / "script").write_text("goto start\nwhen\ngoto 10\nwhen\n")
    attached = run_rdb(home, home, "attach", "job", "-x", str(home / "script"))
    assert attached.returncode == code
    assert said in (attached.stderr if code == 5 else attached.stdout)
    assert ("[0] 10> when" in attached.stdout) == (code == 1), attached.stdout
    (home / "script").unlink()
    assert sorted(one.name for one in home.iterdir()) == ["job"]


def test_attach_to_many_ranks_names_an_altered_file(tmp_path: Path, build: Build) -> None:
    """Before a prompt, although no rank is opened for that."""
    program = build("mpi/ring.c", compiler="mpicc")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "-n", "5", "--", str(program))
    assert done.returncode == 0, done.stderr
    assert run_rdb(tmp_path, tmp_path, "attach", "job", "-x", "/dev/null").returncode == 0
    (path,) = (tmp_path / "job/files").glob("libc.so.6*")
    path.chmod(0o600)
    flip(path, path.stat().st_size // 2)
    attached = run_rdb(tmp_path, tmp_path, "attach", "job", "-x", "/dev/null")
    assert attached.returncode == 5
    assert f"rdb: {path} is not what was recorded" in attached.stderr
    assert attached.stderr.count("\n") == 1


def test_a_file_that_was_cut(home: Path) -> None:
    path = stored(home, "libc.so.6")
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size - 1)
    done = run_rdb(home, home, "replay", "job")
    assert done.returncode == 5
    assert f"expected {size} bytes" in done.stderr and f"found {size - 1} bytes" in done.stderr


def test_files_are_stored_once(tmp_path: Path, build: Build) -> None:
    program = build("mpi/ring.c", compiler="mpicc")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "-n", "3", "--", str(program))
    assert done.returncode == 0, done.stderr
    names = [one.name.split("-s")[0] for one in (tmp_path / "job/files").iterdir()]
    assert len(names) == len(set(names))
    assert {one.name for one in (tmp_path / "job/files-sums").iterdir()} == set(names)
    branch = run_rdb(tmp_path, tmp_path, "restart", "job", "--rank", "0", "--at", "3")
    assert branch.returncode == 0, branch.stderr
    check_all_stored(tmp_path / "job-branch-1/files")
