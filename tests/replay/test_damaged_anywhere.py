"""Bytes flipped at random places of every kind of file that a recording has.

A command answers as it did, or names the damaged file and says what is lost, or names it and
refuses: it never crashes, shows a traceback, or gives another answer without naming the file.
`make test-faults` does it more often.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from faults import EVERYTHING

FLIPS = 150 if EVERYTHING else 1
NAMES = ("ranks", "children", "order", "checkpoints")
REFUSED = (2, 3, 4, 5, 125)
LOST = re.compile(r"damaged|lost|left out|expected|not used|is not what was|is v\d|format \d")
SCRIPT = "goto 30\ngoto end\nbt\n"
RESTART = ["restart", "job", "--name", "branch"]
LOOK = [["ls"], ["info", "job"], ["replay", "job"], ["attach", "job", "-x", "script"]]
LOG = [
    *LOOK,
    ["find-event", "job", "write"],
    ["messages", "job"],
    ["deadlock", "job"],
    ["pack", "job", "-o", "job.rdb"],
    [*RESTART, "--at", "80"],
]
WITHOUT_LOG = [*LOOK, ["pack", "job", "-o", "job.rdb"], RESTART]


@dataclass(frozen=True)
class Job:
    home: Path
    commands: list[list[str]]
    said: list[tuple[int, str]]

    @property
    def kinds(self) -> dict[str, list[Path]]:
        """Its files by their kinds, which are their names without numbers."""
        found: dict[str, list[Path]] = {}
        for path in sorted((self.home / "job").rglob("*")):
            if path.is_file() and path.stat().st_size:
                folder = path.parent.name
                kind = folder if folder.startswith("files") else re.sub(r"\d+", "N", path.name)
                found.setdefault(kind, []).append(path.relative_to(self.home))
        return found


def asked(home: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    done = run_rdb(home, home, *command)
    shutil.rmtree(home / "branch", ignore_errors=True)
    return done


def answer(home: Path, done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    """Ranks of a branch print in any order; the room on the disk and that place may differ."""
    text = done.stdout.replace(str(home), "HOME")
    text = re.sub(r"(directory|kept in) .*", "", text)
    text = re.sub(r"\d[\d.]* [KMG]?i?B\b", "SIZE", text)
    return done.returncode, "\n".join(sorted(" ".join(line.split()) for line in text.splitlines()))


def job(home: Path, run: list[str], commands: list[list[str]]) -> Job:
    home.chmod(0o700)
    made = run_rdb(home, home, "run", "--name", "job", *run)
    assert made.returncode == 0, made.stderr
    (home / "script").write_text(SCRIPT)
    said = [asked(home, command) for command in commands]
    assert all(done.stdout or done.returncode == 0 for done in said), said
    return Job(home, commands, [answer(home, done) for done in said])


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory, build: Build) -> dict[str, Job]:
    """Ranks of MPI; a program with children that write to files; the order; checkpoints alone."""
    loops = str(build("mpi/loops.c", "-O1", compiler="mpicc"))
    alone = str(build("damaged_checkpoints.c", "-O1"))
    every = ["--checkpoint-every", "40"]
    script = "for i in 1 2 3; do echo $i > f; cat f; cp f g; done"
    runs = {
        "ranks": ([*every, "-n", "2", "--", loops, "60"], LOG),
        "children": ([*every, "--", "/bin/sh", "-c", script], LOG),
        "order": (["--record=order", "-n", "2", "--", loops, "60"], [["expand", "job"], *LOG]),
        "checkpoints": (["--record=off", "--", alone], WITHOUT_LOG),
    }
    return {
        name: job(tmp_path_factory.mktemp(name), run, commands)
        for name, (run, commands) in runs.items()
    }


def copied(sound: Job, folder: Path) -> Path:
    home = folder / "home"
    shutil.copytree(sound.home, home, symlinks=True)
    home.chmod(0o700)
    return home


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES if EVERYTHING else NAMES[:1])
def test_a_copy_answers_alike(jobs: dict[str, Job], tmp_path: Path, name: str) -> None:
    """The tests below need it of each job, and fail if an answer differs by itself."""
    home = copied(jobs[name], tmp_path)
    for command, said in zip(jobs[name].commands, jobs[name].said, strict=True):
        assert answer(home, asked(home, command)) == said


@pytest.mark.parametrize("seed", range(FLIPS))
@pytest.mark.parametrize("name", NAMES)
def test_a_byte_of_any_file(jobs: dict[str, Job], tmp_path: Path, name: str, seed: int) -> None:
    chance = random.Random(f"{name} {seed}")
    kinds = jobs[name].kinds
    path = chance.choice(kinds[chance.choice(sorted(kinds))])
    home = copied(jobs[name], tmp_path)
    with (home / path).open("r+b", buffering=0) as file:
        at = chance.randrange((home / path).stat().st_size)
        byte = os.pread(file.fileno(), 1, at)[0]
        os.pwrite(file.fileno(), bytes([byte ^ chance.randrange(1, 256)]), at)
    for command, said in zip(jobs[name].commands, jobs[name].said, strict=True):
        done = asked(home, command)
        where = f"{path} offset {at}: rdb {' '.join(command)}: {done}"
        assert "Traceback" not in done.stderr and done.returncode >= 0, where
        if answer(home, done) == said:
            continue
        said_now = done.stderr + done.stdout
        assert any(path.name in line and LOST.search(line) for line in said_now.splitlines()), where
        if not done.stdout:
            assert done.returncode in REFUSED, where
