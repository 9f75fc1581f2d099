"""rdb restart: a replay that goes on live, at any event, as a recording of its own."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Build, Rdb, run_rdb
from events import events_called

from rdb.recording import Job, open_job

BuildText = Callable[..., Path]

TEXT = "".join(f"{number * number % 9973:08d}" for number in range(100))


class Told:
    """live_files, recorded once; what it printed, and what it left in its files."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        (folder / "in").write_text(TEXT)
        (folder / "log").write_text("earlier\n")
        done = self.rdb("run", "--name", "told", "--", str(program), "in", "out", "log")
        assert done.returncode == 0, done.stderr
        self.said = done.stdout
        self.left = {name: (folder / name).read_bytes() for name in ("out", "log")}

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def job(self, name: str) -> Job:
        return open_job(self.home / name)

    def restart(self, job: str, at: int, name: str) -> Job:
        """Restarts it, and compares all that came of it with the uninterrupted run."""
        done = self.rdb("restart", job, "--at", str(at), "--name", name)
        assert done.returncode == 0, done.stderr
        # what was in the buffers of stdio at the cut is printed again, what had been written is not
        assert self.said.endswith(done.stdout) and "sum" in done.stdout
        branch = self.job(name)
        for copy in branch.path.glob("rank-0/file-*"):
            assert copy.read_bytes() == self.left[copy.name.split("-", 2)[2]]
        verified = self.rdb("replay", name, "--verify")
        assert verified.returncode == 0, verified.stderr
        # the parent's files are as they were
        assert {one: (self.folder / one).read_bytes() for one in self.left} == self.left
        return branch


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Told:
    return Told(tmp_path_factory.mktemp("told"), build("live_files.c"))


def events(job: Job, *calls: str) -> list[int]:
    return events_called(job.rank(0), *calls)


def test_it_goes_on_from_any_event(told: Told) -> None:
    job = told.job("told")
    last = job.rank(0).last_event
    first = events(job, "setitimer")[0]
    cuts = [first + 2, events(job, "signal", "SIG")[0], last // 2, last - 3]
    for number, cut in enumerate(cuts):
        branch = told.restart("told", cut, f"cut{number}")
        assert branch.meta["parent"]["cut"] == {"0": cut}
        assert branch.meta["parent"]["job"] == "told"


@pytest.mark.parametrize(
    "option", ["--hash-every=-1", "--keep=-1", "--checkpoint-every=x", "--record=off", "--name=a/b"]
)
def test_wrong_options_leave_no_branch(told: Told, option: str) -> None:
    before = sorted(told.home.iterdir())
    done = told.rdb("restart", "told", "--at", "20", option)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert option.partition("=")[0] in done.stderr or "a/b" in done.stderr
    assert sorted(told.home.iterdir()) == before


def test_one_restart_in_place_at_a_time(told: Told) -> None:
    """Two would write to the same files."""
    before = sorted(told.home.iterdir())
    with open(told.home / "told/in-place", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = told.rdb("restart", "told", "--at", "20", "--in-place")
    assert done.returncode == 1
    assert done.stderr.startswith("rdb: told is being restarted in place already; restart it")
    assert sorted(told.home.iterdir()) == before


def test_a_branch_is_restarted_and_carried_away(told: Told) -> None:
    last = told.job("told").rank(0).last_event
    first = told.restart("told", last // 3, "first")
    second = told.restart("first", first.rank(0).last_event // 3, "second")
    packed = told.rdb("pack", "second", "-o", "second.rdb")
    assert packed.returncode == 0, packed.stderr

    third = told.rdb("restart", "second.rdb", "--at", str(second.rank(0).last_event // 2))
    assert third.returncode == 0, third.stderr
    assert told.said.endswith(third.stdout)
    assert "branch of first at event" in told.rdb("info", "second").stdout


def test_in_place_the_files_themselves_are_rolled_back(told: Told, tmp_path: Path) -> None:
    for name in told.left:
        shutil.copy(told.folder / name, tmp_path)
    (told.folder / "out").write_bytes(b"altered since\n")
    last = told.job("told").rank(0).last_event
    done = told.rdb("restart", "told", "--at", str(last // 2), "--in-place")
    left = {name: (told.folder / name).read_bytes() for name in told.left}
    for name in told.left:
        shutil.copy(tmp_path / name, told.folder)
    assert done.returncode == 0 and " went on as " not in done.stderr, done.stderr
    assert left == told.left


def test_the_plan_and_what_may_be_asked_for(told: Told) -> None:
    assert (
        "replay from checkpoint 0 to event 50, then live"
        in told.rdb("restart", "told", "--plan", "--at", "50").stdout
    )
    for at, line in (
        ("ckpt:7", "has no checkpoint 7"),
        ("99999", "has no event 99999"),
        ("9999s", " s, not for 9999 s; --at end"),
        ("soon", "--at takes ckpt:2"),
    ):
        refused = told.rdb("restart", "told", "--at", at)
        assert refused.returncode in (2, 4) and line in refused.stderr
    assert "to event 0," in told.rdb("restart", "told", "--plan", "--at", "0s").stdout


REFUSED = {
    "a socket": (
        "int s = socket(16, SOCK_RAW, 0); getppid(); return s < 0;",
        "is a socket",
    ),
    "an inotify queue": (
        "int q = inotify_init1(0); getppid(); return q < 0;",
        "is an inotify queue",
    ),
}
NOT_KEPT = {
    "a file that was there": (
        'int f = open("there", O_RDWR); write(f, "x", 1); getppid(); return f < 0;',
        "which may have been written over",
    ),
    "a file that is gone": (
        'int f = open("gone", O_RDONLY); getppid(); return f < 0 || unlink("gone");',
        "gone: No such file",
    ),
}
"""Files in a recording that is not to grow."""
FORESEEN = ("an inotify queue",)
SOURCE = """
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void) { %s }
"""


@pytest.mark.parametrize("what", [*REFUSED, *NOT_KEPT])
def test_what_cannot_be_brought_back_is_said_at_once(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path, what: str
) -> None:
    body, line = {**REFUSED, **NOT_KEPT}[what]
    bounded = ["--keep", "9checkpoints"] * (what in NOT_KEPT)
    for name in ("there", "gone"):
        (tmp_path / name).write_text("before")
    program = build_text("refused", SOURCE % body)
    assert rdb("run", "--name", "refused", *bounded, "--", program).returncode == 0
    cut = events(open_job("refused"), "getppid")[-1]

    done = rdb("restart", "refused", "--at", str(cut), *["--plan"] * (what in FORESEEN))

    assert done.returncode == (1 if what in FORESEEN else 125)
    *cautions, refusal = done.stderr.splitlines()
    assert line in refusal, done.stderr
    assert all("after the cut" in one for one in cautions), done.stderr
    jobs = json.loads(rdb("ls", "--json").stdout)
    assert [job["job"] for job in jobs] == ["refused"]


def test_it_knows_itself_by_its_old_number(rdb: Rdb, build_text: BuildText, rdb_home: Path) -> None:
    program = build_text(
        "self",
        "#include <signal.h>\n#include <time.h>\n#include <unistd.h>\nstatic volatile int got, n;\n"
        "static void on(int s) { got = s; }\n"
        "int main(void) { int me = getpid(); signal(SIGUSR1, on); getppid();"
        # longer than anything that watches a replay waits
        " for (clock_t end = clock() + CLOCKS_PER_SEC; clock() < end;)"
        " for (n = 0; n < 9999999;) n++;"
        " kill(me, SIGUSR1); return got == SIGUSR1 ? 7 : 1; }",
    )
    assert rdb("run", "--name", "self", "--", program).returncode == 7
    cut = events(open_job("self"), "getppid")[-1]
    assert rdb("restart", "self", "--at", str(cut)).returncode == 7
    assert rdb("replay", "self-branch-1").returncode == 0


def test_a_log_of_several_segments(rdb: Rdb, build_text: BuildText, rdb_home: Path) -> None:
    """From behind the first one, which is a small one."""
    program = build_text(
        "segments",
        """
        #include <fcntl.h>
        #include <stdio.h>
        #include <unistd.h>
        static char data[1 << 16];
        int main(void)
        {
            int from = open("/dev/urandom", O_RDONLY);
            for (int i = 0; i < 40; i++)
                if (read(from, data, sizeof(data)) != sizeof(data))
                    return 1;
            puts("read");
            return 0;
        }
        """,
    )
    assert rdb("run", "--name", "segments", "--", program).returncode == 0
    recording = open_job(rdb_home / "segments").rank(0)
    assert (recording.path / "log-000001.seg").exists()
    reads = [n for n in range(recording.last_event) if recording.describe(n).startswith("read(")]
    for event in (reads[-1], reads[-20]):
        done = rdb("restart", "segments", "--at", str(event))
        assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr
