"""Files that were closed at a checkpoint without a log and changed later are as they were."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS
from running import DEADLINE_S, BuildText, Running

PROGRAM = PROGRAMS / "closed_files.py"
ROUNDS = 3


def after(said: str, number: int) -> str:
    """What it said after round NUMBER."""
    return said.split(f"at {number}\n", 1)[1]


class Rounds:
    """A job with a checkpoint after each of its first two rounds, which has ended."""

    def __init__(self, folder: Path, *options: str, ends: bool = True) -> None:
        self.folder = folder
        (folder / "work").mkdir()
        line = (*options, "--", sys.executable, str(PROGRAM), str(folder / "work"))
        self.job = Running(folder / "home", folder, "job", *line)
        self.said = self.through(self.job, 1, ROUNDS) if ends else ""

    def through(self, job: Running, first: int, last: int) -> str:
        """Takes a checkpoint after each round but the last, and returns what it said."""
        said = ""
        assert job.process.stdout is not None
        for number in range(first, last + 1):
            for line in job.process.stdout:
                said += line
                if line == f"at {number}\n":
                    break
            if number < last:
                self.checkpoint(job)
            (self.folder / f"gate-{number}").touch()
        rest, told = deadlines.communicate(job.process, DEADLINE_S)
        assert job.process.returncode == 0, told
        return said + rest

    def checkpoint(self, job: Running) -> None:
        taken = job.rdb("checkpoint", job.name, "--timeout", "90")
        assert taken.returncode == 0, taken.stderr

    def restart(self, *arguments: str) -> str:
        done = self.job.rdb("restart", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shut(self, number: int) -> None:
        (self.folder / f"gate-{number}").unlink()


@pytest.fixture
def rounds(tmp_path: Path) -> Iterator[Rounds]:
    yield Rounds(tmp_path)
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_it_goes_on_with_copies_and_so_does_its_branch(rounds: Rounds) -> None:
    now = {one: one.read_bytes() for one in (rounds.folder / "work").rglob("*") if one.is_file()}
    for number in (1, 2):
        went = rounds.restart("job", "--at", f"ckpt:{number}")
        assert went == after(rounds.said, number)
    rounds.shut(2)
    branch = Running(rounds.job.home, rounds.folder, "branch", "--at", "ckpt:1", restart="job")
    assert rounds.through(branch, 2, ROUNDS) == after(rounds.said, 1)
    assert rounds.restart("branch", "--name", "again") == after(rounds.said, 2)
    assert now == {one: one.read_bytes() for one in now}


def test_in_place_the_files_themselves_are_rolled_back(rounds: Rounds) -> None:
    for number in (2, 1):
        went = rounds.restart("job", "--at", f"ckpt:{number}", "--in-place")
        assert went == after(rounds.said, number)
    lost = rounds.job.rdb("restart", "job", "--at", "ckpt:2")
    assert lost.returncode and "rolled back in place to checkpoint 1" in lost.stderr


def test_lives_in_place_go_on_with_the_same_files(rounds: Rounds) -> None:
    """One that was killed before its first checkpoint, one with a checkpoint, and one from that."""
    rounds.shut(2)
    killed = Running(
        rounds.job.home, rounds.folder, "killed", "--at", "ckpt:1", "--in-place", restart="job"
    )
    killed.until("at 2")
    killed.kill()
    second = Running(
        rounds.job.home, rounds.folder, "second", "--at", "ckpt:1", "--in-place", restart="job"
    )
    assert rounds.through(second, 2, ROUNDS) == after(rounds.said, 1)
    assert rounds.restart("second", "--in-place", "--name", "third") == after(rounds.said, 2)
    refused = rounds.job.rdb("restart", "killed", "--in-place")
    assert refused.returncode == 4, refused.stderr  # it has no checkpoint
    went = rounds.restart("job", "--at", "ckpt:1", "--in-place", "--name", "last")
    assert went == after(rounds.said, 1)
    refused = rounds.job.rdb("restart", "second", "--in-place")
    assert refused.returncode and "for last" in refused.stderr


def test_what_other_branches_have_changed_is_undone(tmp_path: Path) -> None:
    """The job was killed at its checkpoint, and its first branch goes on with the real files."""
    (tmp_path / "whole").mkdir()
    expected = Rounds(tmp_path / "whole").said
    (tmp_path / "killed").mkdir()
    rounds = Rounds(tmp_path / "killed", ends=False)
    rounds.job.until("at 1")
    rounds.checkpoint(rounds.job)
    rounds.job.kill()
    (rounds.folder / "gate-1").touch()
    first = Running(rounds.job.home, rounds.folder, "first", restart="job")
    assert rounds.through(first, 2, ROUNDS) == after(expected, 1)
    for name, job, number, record in (
        ("second", "job", 1, "off"),
        ("again", "first", 2, "off"),
        ("recorded", "job", 1, "full"),
        ("last", "first", 2, "off"),
    ):
        at = f"ckpt:{1 if job == 'job' else number - 1}"
        went = rounds.restart(job, "--at", at, "--name", name, f"--record={record}")
        assert went == after(expected, number), name


def test_a_roll_back_that_was_interrupted_is_finished_first(rounds: Rounds) -> None:
    work = rounds.folder / "work"
    (work / "cut").unlink()
    (work / "cut").mkdir()
    (work / "cut/other").touch()  # it cannot be rolled back
    stuck = rounds.job.rdb("restart", "job", "--at", "ckpt:1", "--in-place")
    assert stuck.returncode and "cut cannot be rolled back" in stuck.stderr
    shutil.rmtree(work / "cut")
    assert rounds.restart("job", "--at", "ckpt:1", "--in-place") == after(rounds.said, 1)


def test_the_plan_names_what_is_rolled_back(rounds: Rounds) -> None:
    said = rounds.restart("job", "--at", "ckpt:2", "--plan")
    lines = [line for line in said.splitlines() if line.startswith("file ")]
    work = rounds.folder / "work"
    assert f"file {work}/counter: 1 bytes, as it was at the cut" in lines
    assert f"file {work}/out-8: not there" in lines
    assert not any(f"{work}/out-5:" in line for line in lines)
    plan = ("restart", "job", "--at", "ckpt:2", "--plan")
    linked = f"{work}/counter: the file has 1 more name in other directories"
    assert linked in rounds.job.rdb(*plan).stderr
    assert linked not in rounds.job.rdb(*plan, "--in-place").stderr


UNNOTED = """
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    fclose(fopen("a", "w"));
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
    return rename("a", "b") && access("b", F_OK);
}
"""


def test_what_could_not_be_noted_is_said(tmp_path: Path, build_text: BuildText) -> None:
    """A file has the name of the directory in which the changes are noted."""
    program = build_text("unnoted", UNNOTED)
    job = Running(tmp_path / "home", tmp_path, "job", "--", str(program))
    job.until("there")
    taken = job.rdb("checkpoint", "job", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    notes = tmp_path / "home/job/rank-0/undo-1"
    notes.rename(tmp_path / "notes")
    notes.touch()
    (tmp_path / "gate").touch()
    told = deadlines.communicate(job.process, DEADLINE_S)[1]
    assert job.process.returncode == 0 and "cannot be noted: Not a directory" in told, told
    done = job.rdb("restart", "job")
    assert done.returncode == 125, done.stderr
    assert re.fullmatch(r"rdb: \S*/undo-1/\S+: Not a directory; .*\n", done.stderr), done.stderr
    notes.unlink()
    (tmp_path / "notes").rename(notes)
    again = job.rdb("restart", "job")
    assert again.returncode == 0 and "rank 0 could not note all" in again.stderr, again.stderr


def test_what_cannot_be_undone_is_said(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "--no-children")
    done = rounds.job.rdb("restart", "job", "--at", "ckpt:1")
    assert "rank 0 has made a child process since that rdb did not follow" in done.stderr


def test_what_was_not_kept_refuses_a_restart(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, "--kept-budget", "1KB")
    done = rounds.job.rdb("restart", "job", "--at", "ckpt:1")
    assert done.returncode and "--kept-budget was spent" in done.stderr


def test_a_damaged_journal_refuses_a_restart(rounds: Rounds) -> None:
    for one in (rounds.job.home / "job/rank-0").glob("undo-1/journal-*"):
        data = bytearray(one.read_bytes())
        data[60] ^= 1
        one.write_bytes(data)
    done = rounds.job.rdb("restart", "job", "--at", "ckpt:1")
    assert done.returncode == 5 and "expected a record of what the job changed" in done.stderr


RANKS = """
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int rank;
static void put(const char *path, const char *mode, int round)
{
    FILE *f = fopen(path, mode);
    fprintf(f, "rank %d round %d\\n", rank, round);
    fclose(f);
}
static void get(const char *path)
{
    char text[4096];
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    text[n < 0 ? 0 : n] = 0;
    close(fd);
    printf("%d %s: %s;\\n", rank, path, text);
    fflush(stdout);
}
static void around(int turns, void (*what)(int), int round)
{
    for (int turn = 0; turn < turns; turn++) {
        if (turn == rank)
            what(round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}
static int own, held;
static void all(int round)
{
    char name[32], text[64];
    snprintf(name, sizeof(name), "of-%d", rank);
    put(name, "w", round);
    put("log", "a", round);
    if (rank == 1) {
        put("tmp", "w", round);
        rename("tmp", "state");
    }
    int n = snprintf(text, sizeof(text), "rank %d round %d\\n", rank, round);
    if (pwrite(own, text, n, 32 * rank) != n || (rank == 0 && write(held, text, n) != n))
        abort();
}
static void say(int round)
{
    static const char *const names[] = {"of-0", "of-1", "log", "state", "shared", "held"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        get(names[i]);
}
int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOFBF, 8192); /* a piece is one write: two ranks do not mix them */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    own = open("shared", O_RDWR | O_CREAT, 0644);
    held = rank ? -1 : open("held", O_WRONLY | O_CREAT, 0644);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 4; round++) {
        if (round == 2) {
            if (!rank) {
                puts("at 1");
                fflush(stdout);
            }
            while (access("gate-1", F_OK))
                usleep(1000);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        around(2, all, round);
    }
    around(2, say, 0);
    MPI_Finalize();
    return 0;
}
"""


def test_ranks_find_each_others_files(tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("ranks", RANKS, compiler="mpicc")
    job = Running(tmp_path / "home", tmp_path, "ranks", "-n", "2", "--", str(program))
    job.until("at 1")
    taken = job.rdb("checkpoint", "ranks", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "gate-1").touch()
    said, told = deadlines.communicate(job.process, DEADLINE_S)
    assert job.process.returncode == 0, told
    assert said.count("rank 1 round 3") == 6
    for options in ([], ["--in-place"]):
        again = job.rdb("restart", "ranks", *options)
        assert again.returncode == 0, again.stderr
        assert sorted(again.stdout.split(";\n")) == sorted(said.split(";\n")), again.stderr
