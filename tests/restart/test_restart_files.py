"""Restarts of programs that rename, delete and open again what they have written."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb, run_rdb
from events import events_called
from trees import Recorded

from rdb.live.cut.consistent import uses_mpi
from rdb.live.files.later_files import lacks_files
from rdb.recording import Job, Kind, open_job


class Saved:
    """live_renames, recorded once."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        done = run_rdb(self.home, folder, "run", "--name", "saved", "--", str(program))
        assert done.returncode == 0, done.stderr
        self.said = done.stdout
        assert self.said.startswith("sum ")
        self.left = self.files()

    def files(self) -> list[str]:
        return sorted(one.name for one in self.folder.iterdir() if one != self.home)

    def marks(self, job: str) -> list[int]:
        """Events of getppid(2)."""
        recording = open_job(self.home / job).rank(0)
        index = recording.index
        return [index.brief(place)[1] for place in index.of_calls(110)]

    def restart(self, job: str, event: int, name: str) -> None:
        done = run_rdb(
            self.home, self.folder, *("restart", job, "--at", str(event), "--name", name)
        )
        assert (done.returncode, done.stdout) == (0, self.said), (event, done.stderr)
        assert self.files() == self.left, event


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Saved:
    return Saved(tmp_path_factory.mktemp("saved"), build("live_renames.c"))


def test_what_it_had_written_is_there_under_its_name(saved: Saved) -> None:
    marks = saved.marks("saved")
    assert len(marks) == 3 * 3 + 7
    for number, event in enumerate(marks[k] for k in (0, 1, 9, 10, 12, 14, 15)):
        saved.restart("saved", event, f"branch{number}")


def test_it_is_replayed_from_where_the_file_was_written(saved: Saved) -> None:
    job = open_job(saved.home / "saved").rank(0)
    first, second, end = saved.marks("saved")[0], saved.marks("saved")[1], job.last_event
    assert not lacks_files(job, 0, second)
    assert lacks_files(job, first, second) and lacks_files(job, first, end)


def test_a_branch_of_a_branch_has_it_too(saved: Saved) -> None:
    saved.restart("saved", saved.marks("saved")[1], "first")
    own = open_job(saved.home / "first").path / "rank-0" / "own-files"
    assert own.read_text() == f"{saved.folder}/state.new\n"
    marks = saved.marks("first")
    for number in (0, 9):
        saved.restart("first", marks[number], f"second{number}")
    packed = run_rdb(saved.home, saved.folder, "pack", "first", "-o", str(saved.home / "first.rdb"))
    assert packed.returncode == 0, packed.stderr
    (saved.home / "first").rename(saved.home / ".first")
    saved.restart(str(saved.home / "first.rdb"), marks[0], "third")


def test_the_processes_of_a_rank_are_read_once(
    saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, read = open_job(saved.home / "saved"), []
    assert len(job.rank(0).index.of_kind(Kind.HYPERCALL)) > 1
    process = Job.process

    def counted(job: Job, rank: int) -> object:
        read.append(rank)
        return process(job, rank)

    monkeypatch.setattr(Job, "process", counted)
    assert not uses_mpi(job)
    assert read == [0]


def test_hundreds_of_files_and_pipes(tmp_path: Path, build: Build) -> None:
    """More pipes than a table holds, one after the other; more files than it held before."""
    (tmp_path / "files").mkdir()
    program, files = str(build("many_files.c")), str(tmp_path / "files")
    pipes = Recorded(tmp_path, program, files, "520")
    assert pipes.said
    pipes.restart(pipes.events("getppid")[0])


def test_descriptors_changed_by_rare_calls(tmp_path: Path, build: Build) -> None:
    """truncate(2), sizes of pipes, ioctls as fcntl(2), masks of signalfd(2), EPOLLONESHOT."""
    recorded = Recorded(tmp_path, str(build("live_descriptors.c")))
    assert "sizes 10 20\npipe 1048576 with" in recorded.said
    branch = recorded.restart(recorded.events("getppid")[0])
    recorded.restart(recorded.events("getppid")[1])
    recorded.restart(events_called(branch.rank(0), "getppid")[0], branch.path.name)


MOVES = [
    *("copy", "copy-at", "copy-within", "send", "send-at", "splice", "splice-at", "tee", "memory"),
    *("allocate", "hole", "write-at", "write-here", "write-end", "write-end-at"),
    *("read-here", "read-at"),
]


@pytest.mark.parametrize("closed", [(), ("closed",)], ids=["open", "closed"])
@pytest.mark.parametrize("way", MOVES)
def test_what_was_moved_without_read_and_write(
    way: str, closed: tuple[str, ...], build: Build, rdb: Rdb, tmp_path: Path
) -> None:
    program = build("live_moved.c", "-O1")
    native = deadlines.native([program, way, *closed], cwd=tmp_path)
    recorded = rdb("run", "--name", "moved", "--", program, way, *closed, cwd=tmp_path)
    assert (recorded.returncode, recorded.stdout) == (0, native.stdout), recorded.stderr
    (mark,) = events_called(open_job("moved").rank(0), "getppid")
    branch = rdb("restart", "moved", "--at", mark, cwd=tmp_path)
    assert (branch.returncode, branch.stdout) == (0, native.stdout), branch.stderr
    assert "not known" not in branch.stderr


@pytest.mark.parametrize("closed", [(), ("closed",)], ids=["open", "closed"])
def test_a_copy_of_a_file_that_was_there(closed: tuple[str, ...], build: Build, rdb: Rdb) -> None:
    """A replay does not know its bytes: refused while it is open, else the recording has it."""
    program = build("live_copies.c", "-O1")
    recorded = rdb("run", "--name", "copies", "--", program, *closed)
    assert recorded.returncode == 0, recorded.stderr
    (mark,) = events_called(open_job("copies").rank(0), "getppid")
    branch = rdb("restart", "copies", "--at", mark)
    if closed:
        assert (branch.returncode, branch.stdout) == (0, recorded.stdout), branch.stderr
    else:
        assert branch.returncode == 125 and "that a restart cannot repeat" in branch.stderr


@pytest.mark.parametrize("way", ["temporary", "memory", "sealed"])
def test_a_file_that_never_had_a_name(way: str, build: Build, rdb: Rdb, tmp_path: Path) -> None:
    program = build("live_nameless.c")
    native = deadlines.native([program, way], cwd=tmp_path)
    recorded = rdb("run", "--name", "nameless", "--", program, way)
    assert (recorded.returncode, recorded.stdout) == (0, native.stdout), recorded.stderr
    for job in ("nameless", "nameless-branch-1"):
        mark = events_called(open_job(job).rank(0), "getppid")[0]
        branch = rdb("restart", job, "--at", mark)
        assert (branch.returncode, branch.stdout) == (0, native.stdout), branch.stderr


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("linked", "was given one by linkat(2)"),
        ("mapped", "a file in memory that is mapped"),
        ("master", "a terminal"),
        ("slave", "cannot be made again"),
    ],
)
def test_what_cannot_be_made_again_is_refused(way: str, why: str, build: Build, rdb: Rdb) -> None:
    recorded = rdb("run", "--name", "refused", "--", build("live_nameless.c"), way)
    assert recorded.returncode == 0, recorded.stderr
    mark = events_called(open_job("refused").rank(0), "getppid")[0]
    branch = rdb("restart", "refused", "--at", mark)
    assert branch.returncode in (1, 125) and why in branch.stderr, branch.stderr
