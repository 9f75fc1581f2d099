"""rdb restart of programs with child processes: parents and children go on together."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb
from events import events_called
from trees import Recorded

from rdb.recording import open_job

BuildText = Callable[..., Path]


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("talks"), str(build("live_tree.c")))


def test_a_child_goes_on_where_it_was(talks: Recorded) -> None:
    """Its number, what was in the pipes, and how it ends."""
    assert talks.said.endswith("its child, status 21\n")
    asked = talks.events("getppid")
    for at in (talks.events("clone", "fork", "vfork")[0], asked[-2]):
        branch = talks.restart(at)
        assert set(branch.process(0).children) == {1}
    assert not talks.restart(asked[-1]).process(0).children


def test_the_plan_says_where_each_is(talks: Recorded) -> None:
    at = str(talks.events("getppid")[1])
    planned = talks.rdb("restart", "job", "--at", at, "--plan")
    assert planned.returncode == 0 and "process 0.1: replay to event" in planned.stdout
    refused = talks.rdb("restart", "job", "--at", at, "--in-place")
    assert refused.returncode == 2 and "--in-place: the program has child" in refused.stderr


def test_branches_of_branches(talks: Recorded) -> None:
    """What is in the pipes between them is there again; at last the child is waited for."""
    first = talks.restart(talks.events("getppid")[2])
    recording = first.rank(0)
    asked = [
        event
        for event in range(1, recording.last_event)
        if recording.describe(event).startswith("getppid")
    ]
    second = talks.restart(asked[0], first.name)
    third = talks.restart(1, second.name)
    assert set(second.process(0).children) == set(third.process(0).children) == {1}
    assert not talks.restart(asked[-1], first.name).process(0).children


def test_a_pipeline(tmp_path: Path) -> None:
    """Of programs that replaced the shell's children; one writes faster than the other reads."""
    line = "seq 1 20000 | tail -n 3 | head -n 1; echo done"
    shell = Recorded(tmp_path, "sh", "-c", line)
    assert shell.said == "19998\ndone\n"
    forks = shell.events("clone", "fork", "vfork")
    waits = shell.events("wait4")
    for at in (forks[2] + 1, waits[0]):
        shell.restart(at)


def test_groups_and_sessions(tmp_path: Path, build: Build) -> None:
    groups = Recorded(tmp_path, str(build("live_groups.c")))
    assert groups.said == "2 of the group\n"
    groups.restart(groups.events("getppid")[0])


GONE = """
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int up[2], down[2];
    char c;
    if (pipe(up) || pipe(down))
        return 1;
    if (!fork()) {
        int file = open("gone", O_RDONLY);
        close(down[1]);
        if (write(up[1], "x", 1) != 1 || read(down[0], &c, 1))
            return 1;
        return file;
    }
    if (read(up[0], &c, 1) != 1)
        return 1;
    getppid();
    close(down[1]);
    wait(0);
    return 0;
}
"""


def test_if_one_cannot_go_on_none_does(
    rdb: Rdb, build_text: BuildText, rdb_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "gone").touch()
    assert rdb("run", "--name", "job", "--", build_text("gone", GONE)).returncode == 0
    top = open_job("job").rank(0)
    (at,) = (e for e in range(1, top.last_event) if "getppid" in top.describe(e))
    (tmp_path / "gone").unlink()
    done = rdb("restart", "job", "--at", str(at))
    assert done.returncode == 125 and "gone: No such file" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not (rdb_home / "job-branch-1").exists()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("shared"), str(build("live_shared.c")))


def test_memory_is_shared_again(shared: Recorded) -> None:
    """In the middle of one process's turn, or of another's, and when there is one process left."""
    assert shared.said.endswith("8, 8\n")
    asked = shared.events("getppid")
    for at in (asked[1], asked[4] - 1):
        branch = shared.restart(at)
        assert set(branch.process(0).children) == {1, 2}
    assert not shared.restart(asked[-1]).process(0).children


def test_branches_that_began_with_shared_memory(shared: Recorded) -> None:
    """At random; where several were writing to the same, rdb asks for another event."""
    chosen = random.Random(11)
    for at in shared.events("getppid")[2:8:5]:
        name = shared.restart(at).name
        for _ in range(2):
            name = shared.restart_near(chosen, name).name
        shared.restart(0, name)


@pytest.mark.slow
def test_memory_with_a_name(tmp_path: Path, build: Build) -> None:
    """Of shm_open and sem_open; who opens it by that name later finds the branch's."""
    program = str(build("live_shared_named.c"))
    (tmp_path / "again").mkdir()
    named = Recorded(tmp_path, program)
    assert named.said.endswith("30, status 6\n")
    asked = named.events("getppid")
    for at in (asked[2], asked[5]):
        branch = named.restart(at)
        assert set(branch.process(0).children) == {1}
        later = named.restart_near(random.Random(at), branch.name)
        named.restart(0, later.name)
    again = Recorded(tmp_path / "again", program, "again")
    later = again.restart(again.events("getppid")[2])
    again.restart(0, again.restart_near(random.Random(4), later.name).name)


LEFT = """
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int ends[2];
    char b[8];
    if (pipe(ends))
        return 1;
    if (!fork())
        return write(ends[1], "left\\n", 5) != 5;
    if (wait(0) < 0)
        return 2;
    close(ends[1]);
    getppid();
    return write(1, b, (size_t)read(ends[0], b, 8)) != 5;
}
"""


def test_what_a_child_left_in_a_pipe(tmp_path: Path, build_text: BuildText) -> None:
    """It has been waited for; nobody else is left."""
    left = Recorded(tmp_path, str(build_text("left", LEFT)))
    assert left.said == "left\n"
    left.restart(left.events("getppid")[0])


@pytest.mark.parametrize("argument", [(), ("child",)])
def test_calls_that_name_a_process(tmp_path: Path, build: Build, argument: tuple[str, ...]) -> None:
    """By the id that the program knows, its own or its child's."""
    job = Recorded(tmp_path, str(build("live_own_pid.c", "-O1")), *argument)
    assert "process_vm_readv done\n" in job.said and "differs" not in job.said
    job.restart(job.events("getppid")[0])


@pytest.mark.parametrize("way", ["open", "clone", "self"])
def test_a_pidfd_names_the_same_process(way: str, build: Build, rdb: Rdb) -> None:
    program = build("live_pidfd.c")
    native = deadlines.native([program, way])
    recorded = rdb("run", "--name", "pidfd", "--", program, way)
    assert (recorded.returncode, recorded.stdout) == (0, native.stdout), recorded.stderr
    for job in ("pidfd", "pidfd-branch-1"):
        mark = events_called(open_job(job).rank(0), "getppid")[0]
        branch = rdb("restart", job, "--at", mark)
        assert (branch.returncode, branch.stdout) == (0, native.stdout), branch.stderr


def test_a_pidfd_of_a_child_that_is_gone_is_refused(build: Build, rdb: Rdb) -> None:
    recorded = rdb("run", "--name", "pidfd", "--", build("live_pidfd.c"), "gone")
    assert recorded.returncode == 0, recorded.stderr
    mark = events_called(open_job("pidfd").rank(0), "getppid")[0]
    branch = rdb("restart", "pidfd", "--at", mark)
    assert branch.returncode == 125 and "which is not there" in branch.stderr, branch.stderr
