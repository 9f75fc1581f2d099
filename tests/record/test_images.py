"""Checkpoints while recording: each is a place to start from, with the memory that was there."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deadlines
import pytest
from conftest import Build, Rdb
from imagefile import SECTIONS, Image, read_image
from older_kernel import without_userfaultfd

from rdb.errors import DamagedRecording
from rdb.paths import rdb_exec_path
from rdb.recording import RankRecording, open_job
from rdb.replay.replica import Replica
from rdb.timeline import images as timeline_images
from rdb.timeline.position import Position
from rdb.timeline.stopped import NoSuchPosition
from rdb.timeline.timeline import Timeline

BuildText = Callable[..., Path]
DEADLINE_S = 120
MB = 1 << 20


class Recorder:
    """rdb-exec itself, in a directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.rank, self.files = folder / "rank-0", folder / "files"
        self.rank.mkdir()
        self.files.mkdir()

    def line(self, *options: str) -> list[str]:
        return [str(rdb_exec_path()), "--dir", str(self.rank), "--files", str(self.files), *options]

    def record(self, *options: str | Path, **settings: Any) -> subprocess.CompletedProcess[str]:
        return deadlines.run(self.line(*map(str, options)), DEADLINE_S, **settings)

    def settle(self) -> None:
        """A child that still writes when the program ends finishes by itself."""
        until = deadlines.Deadline(DEADLINE_S)
        needle = os.fsencode(self.rank)
        while any(needle in _maps(pid) for pid in _processes()):
            assert not until.over(), "an image is being written for ever"
            time.sleep(0.01)

    def verify(self, number: int | None = None) -> dict[str, Any]:
        self.settle()
        line = [str(rdb_exec_path()), "--replay", str(self.rank), "--files", str(self.files)]
        line += ["--verify"] if number is None else ["--verify", "--checkpoint", str(number)]
        done = deadlines.run(line, DEADLINE_S)
        answer = json.loads(done.stdout) if done.stdout else {}
        return {"ok": False, **answer, "code": done.returncode, "said": done.stderr}

    def images(self) -> list[Image]:
        self.settle()
        return [read_image(path) for path in sorted(self.rank.glob("ckpt-*.img"))]


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _maps(pid: int) -> bytes:
    """Recorded programs and their writers have the log's segment mapped."""
    try:
        return Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def _all_agree(recorder: Recorder, least: int) -> list[Image]:
    images = recorder.images()
    assert len(images) >= least
    whole = recorder.verify()
    assert whole["ok"], whole
    for image in images:
        answer = recorder.verify(image.number)
        assert answer["ok"], (image.number, answer)
        assert (answer["hash"], answer["events"]) == (whole["hash"], whole["events"])
    return images


@pytest.mark.slow
def test_memory_is_the_same_from_every_checkpoint(recorder: Recorder, build: Build) -> None:
    program = build("images.c", "-O1")
    done = recorder.record("--hash-every", "1", "--checkpoint-every", "7", "--", program, "60")
    assert done.returncode == 0, done.stderr
    images = _all_agree(recorder, 20)
    assert images[0].number == 0 and images[0].base == 0
    # The chain begins anew now and then, and older chains are compressed.
    assert len({image.base for image in images}) > 2
    for image in images:
        assert {run.image for run in image.runs} <= set(range(image.base, image.number + 1))
    packed = [image for image in images if any(run.stored < run.length for run in image.own)]
    assert packed and all(image.base < images[-1].base for image in packed)


def test_pages_are_compared_where_the_kernel_cannot_tell(recorder: Recorder, build: Build) -> None:
    program = build("images.c", "-O1")
    done = recorder.record(
        *("--hash-every", "1", "--checkpoint-every", "9", "--", program, "30"),
        preexec_fn=without_userfaultfd,
    )
    assert done.returncode == 0, done.stderr
    images = _all_agree(recorder, 9)
    second = images[2]
    assert second.base == 0
    assert sum(run.length for run in second.own) < sum(run.length for run in second.runs) / 4


PAGES = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	size_t len = (size_t)atoi(argv[1]) << 20;
	int value = atoi(argv[2]), rounds = atoi(argv[3]);
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, value, len);
	for (int i = 1; i <= rounds; i++) {
		for (int k = 0; k < 10; k++)
			p[(size_t)k * 40960] = (char)i;
		syscall(SYS_getppid, i);
	}
	return 0;
}
"""


def _bytes(image: Image) -> int:
    return image.path.stat().st_blocks * 512


def test_zero_pages_are_left_out(recorder: Recorder, build_text: BuildText) -> None:
    program = build_text("pages", PAGES)
    done = recorder.record("--checkpoint-every", "2", "--", program, "64", "0", "6")
    assert done.returncode == 0, done.stderr
    images = _all_agree(recorder, 3)
    assert all(_bytes(image) < 2 * MB for image in images)


def test_a_checkpoint_holds_what_was_written_to_since_the_one_before(
    recorder: Recorder, build_text: BuildText
) -> None:
    program = build_text("pages", PAGES)
    options = ("--hash-every", "1", "--checkpoint-every", "2", "--")
    done = recorder.record(*options, program, "32", "7", "12")
    assert done.returncode == 0, done.stderr
    images = _all_agree(recorder, 6)
    assert sum(run.length for run in images[1].own) >= 32 * MB
    for image in images[2:6]:
        assert sum(run.length for run in image.own) < 40 * 4096
        assert sum(run.length for run in image.runs) >= 32 * MB


def test_a_replica_of_a_checkpoint_stands_where_the_program_stood(
    recorder: Recorder, build: Build
) -> None:
    done = recorder.record("--checkpoint-every", "25", "--", build("images.c", "-O1"), "20")
    assert done.returncode == 0, done.stderr
    recorder.settle()
    recording = RankRecording(recorder.rank, recorder.files)
    from_start = Replica.start(recording, 0)
    try:
        for image in recording.images[1:]:
            from_start.agent.run(until_event=image.event)
            there = Replica.start(recording, image.number)
            try:
                assert there.agent.hello().event == image.event
                assert there.agent.get_regs() == from_start.agent.get_regs()
                assert there.agent.hash() == from_start.agent.hash()
            finally:
                there.close()
    finally:
        from_start.close()


WAITS = """
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int children;
static void on_child(int sig) { children++; }
int main(void)
{
	static char memory[8 << 20];
	siginfo_t info;
	signal(SIGCHLD, on_child);
	for (int i = 0; i < 300; i++) {
		memset(memory, i + 1, sizeof(memory));
		if (waitpid(-1, NULL, 0) != -1 || errno != ECHILD)
			return 1;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != -1 || errno != ECHILD)
			return 2;
	}
	return children ? 3 : 0;
}
"""


def test_the_program_does_not_see_the_process_that_writes(
    recorder: Recorder, build_text: BuildText
) -> None:
    done = recorder.record("--checkpoint-every", "100", "--", build_text("waits", WAITS))
    assert done.returncode == 0, done.stderr
    _all_agree(recorder, 4)


FORKS = """
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	static char memory[1 << 20];
	int status;
	for (int i = 0; i < 30; i++)
		syscall(SYS_getppid, i), memory[i * 5000]++;
	pid_t child = fork();
	for (int i = 0; i < 40; i++)
		syscall(SYS_getppid, i), memory[i * 7000] += child ? 1 : 2;
	if (!child)
		_exit(memory[7000]);
	return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 2 ? 0 : 1;
}
"""


def test_forked_children_have_checkpoints_of_their_own(rdb: Rdb, build_text: BuildText) -> None:
    options = ("--hash-every", "1", "--checkpoint-every", "10events")
    done = rdb("run", *options, "--", build_text("forks", FORKS))
    assert done.returncode == 0, done.stderr
    job = open_job("forks-1")
    assert all(len(process.main.images) >= 3 for process in job.processes())
    done = rdb("replay", "forks-1", "--checkpoint", "all", "--json")
    assert done.returncode == 0, done.stdout
    results = json.loads(done.stdout)
    assert {result["process"] for result in results} == {"0", "0.1"}
    assert len({(result["process"], result["hash"]) for result in results}) == 2
    info = json.loads(rdb("info", "forks-1", "--json").stdout)
    assert [image["event"] for image in info["ranks"][0]["images"]][:3] == [0, 10, 20]
    assert rdb("replay", "forks-1", "--checkpoint", "999").returncode == 4
    assert rdb("replay", "forks-1", "--checkpoint", "x").returncode == 2


# Bounded recordings.


def test_keep_bounds_a_recording_by_checkpoints(rdb: Rdb, build: Build) -> None:
    program = build("images.c", "-O1")
    options = ("--hash-every", "1", "--checkpoint-every", "10", "--keep", "4checkpoints")
    done = rdb("run", "--name", "kept", *options, "--", program, "200")
    assert done.returncode == 0, done.stderr
    rank = open_job("kept").rank(0)
    assert 4 <= len(rank.images) <= 8
    assert rank.first_event == rank.images[0].event > 500
    assert rdb("replay", "kept", "--checkpoint", "all").returncode == 0
    assert rdb("replay", "kept").returncode == 0
    assert f"begins at event {rank.first_event}" in rdb("info", "kept").stdout
    assert rank.meta["argv"][0] == str(program) and rank.store_path(str(program))
    with Timeline(rank) as timeline:
        assert timeline.event == rank.first_event
        timeline.goto_end()
        assert timeline.event == rank.last_event
        with pytest.raises(NoSuchPosition, match=f"begins at {rank.first_event}; .*--keep"):
            timeline.seek(Position(rank.first_event - 1))
        timeline.goto_start()
        assert timeline.at_start


READS = """
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static char bytes[50000];
	int fd = open("/dev/urandom", O_RDONLY);
	for (int i = 0; i < atoi(argv[1]); i++)
		if (read(fd, bytes, sizeof(bytes)) != sizeof(bytes))
			return 1;
	return 0;
}
"""


def test_keep_bounds_a_recording_by_bytes(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> None:
    program = build_text("reads", READS)
    done = rdb("run", "--name", "kept", "--keep", "16MB", "--", program, "2000")
    assert done.returncode == 0, done.stderr
    job = open_job("kept")
    rank = job.rank(0)
    size = sum(path.stat().st_blocks * 512 for path in rank.path.iterdir())
    assert size < 24 * MB  # of 100
    assert rank.first_event > 1000
    # Seen at a glance, too, which reads the ends of the log only.
    assert rank.glance().state == "exited 0" and rank.glance().first_event == rank.first_event
    assert [row["state"] for row in json.loads(rdb("ls", "--json").stdout)] == ["exited 0"]
    assert rdb("replay", "kept", "--checkpoint", "all").returncode == 0


@pytest.mark.parametrize("option", ["--keep", "--checkpoint-every"])
@pytest.mark.parametrize("text", ["", "x", "4x", "-1", "4 MB", "1.5s"])
def test_quantities_that_are_none(rdb: Rdb, option: str, text: str) -> None:
    for command in ("run", "exec"):
        done = rdb(command, f"{option}={text}", "--", "true")
        assert done.returncode == 2 and option in done.stderr, done.stderr


# Going there.


LONG = """
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	static volatile unsigned long x;
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 1000000; k++)
			x += k;
		syscall(SYS_getppid, i);
	}
	return 0;
}
"""


def test_the_end_is_reached_from_the_nearest_checkpoint(
    recorder: Recorder, build_text: BuildText, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = recorder.record("--checkpoint-every", "10", "--", build_text("long", LONG, "-O1"))
    assert done.returncode == 0, done.stderr
    recorder.settle()
    recording = RankRecording(recorder.rank, recorder.files)
    started: list[int | None] = []
    start = Replica.start

    def noted(source: RankRecording, checkpoint: int | None = None) -> Replica:
        started.append(checkpoint)
        return start(source, checkpoint)

    monkeypatch.setattr(Replica, "start", noted)
    monkeypatch.setattr(timeline_images, "_WORTH_S", 0.0)
    with Timeline(recording) as timeline:
        timeline.goto_end()
        assert started == [None, recording.images[-1].number]
        end = (timeline.position, timeline.hash())
        timeline.seek(Position(25))
        assert started[2:] == [2]
        middle = (timeline.registers(), timeline.hash())
    monkeypatch.setattr(recording, "images", recording.images[:1])
    with Timeline(recording) as timeline:
        timeline.goto_end()
        assert (timeline.position, timeline.hash()) == end
        timeline.seek(Position(25))
        assert (timeline.registers(), timeline.hash()) == middle


# Faults.


def _start(recorder: Recorder, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        recorder.line(*map(str, arguments)),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _writer_of(process: subprocess.Popen[str]) -> int:
    """The child that writes an image, as soon as there is one."""
    until = deadlines.Deadline(DEADLINE_S)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not until.over():
        assert process.poll() is None
        found = children.read_text().split()
        if found:
            return int(found[0])
    raise AssertionError("no checkpoint was taken")


def test_killed_while_an_image_is_written(recorder: Recorder, build_text: BuildText) -> None:
    program = build_text("pages", PAGES)
    options = ("--hash-every", "20", "--checkpoint-every", "20", "--")
    process = _start(recorder, *options, program, "256", "7", "1000000000")
    _writer_of(process)
    os.killpg(process.pid, signal.SIGKILL)
    deadlines.communicate(process, DEADLINE_S)
    _all_agree(recorder, 1)
    assert not list(recorder.rank.glob("*.part"))


def test_a_killed_writer_is_said_and_the_recording_goes_on(
    recorder: Recorder, build_text: BuildText
) -> None:
    program = build_text("pages", PAGES)
    options = ("--hash-every", "100", "--checkpoint-every", "100", "--")
    process = _start(recorder, *options, program, "128", "7", "1000")
    os.kill(_writer_of(process), signal.SIGKILL)
    said = deadlines.communicate(process, DEADLINE_S)[1]
    assert process.returncode == 0
    assert said.count("checkpoint 1 could not be written") == 1 and said.count("\n") == 1
    numbers = [image.number for image in _all_agree(recorder, 3)]
    assert 1 not in numbers and numbers[:2] == [0, 2]
    assert [one.number for one in RankRecording(recorder.rank, recorder.files).images] == numbers


def test_no_room_for_an_image(recorder: Recorder, build_text: BuildText) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20 * MB, 20 * MB))

    program = build_text("pages", PAGES)
    options = ("--hash-every", "50", "--checkpoint-every", "100", "--")
    done = recorder.record(*options, program, "64", "7", "400", preexec_fn=limit)
    assert done.returncode == 0
    assert done.stderr.count("could not be written: File too large; the recording goes on") == 1
    assert done.stderr.count("\n") == 1
    assert [image.number for image in _all_agree(recorder, 1)] == [0]
    assert not list(recorder.rank.glob("*.part"))


def _flip(path: Path, off: int) -> None:
    data = bytearray(path.read_bytes())
    data[off] ^= 1
    path.write_bytes(data)


def test_damage_is_named_by_file_and_offset(recorder: Recorder, build: Build) -> None:
    done = recorder.record("--checkpoint-every", "20", "--", build("images.c", "-O1"), "10")
    assert done.returncode == 0, done.stderr
    images = recorder.images()
    image = images[-1]
    whole = image.path.read_bytes()
    places = {}
    for name in SECTIONS:
        off, length = image.sections[name]
        places |= {off: off, off + length // 2: off, off + length - 1: off}
    for run in (image.own[0], image.own[-1]):
        places |= {run.off: run.off, run.off + run.stored - 1: run.off}
    places |= {16: 0, 30: 0, 60: 0}  # the header
    for at, said in places.items():
        _flip(image.path, at)
        answer = recorder.verify(image.number)
        assert answer["code"] == 5, (at, answer)
        assert f"{image.path.name}: damaged: offset {said}: expected" in answer["said"], (at, said)
        image.path.write_bytes(whole)
    assert recorder.verify(image.number)["ok"]

    # What it leaves to an earlier image is checked there.
    borrowed = next(run for run in image.runs if run.image == image.number - 1)
    earlier = next(one for one in images if one.number == borrowed.image)
    whole = earlier.path.read_bytes()
    _flip(earlier.path, earlier.own[0].off)
    assert f"{earlier.path.name}: damaged" in recorder.verify(image.number)["said"]
    with pytest.raises(DamagedRecording, match=earlier.path.name):
        Replica.start(RankRecording(recorder.rank, recorder.files), image.number)
    earlier.path.write_bytes(whole[: len(whole) // 2])
    assert "expected more of the file" in recorder.verify(image.number)["said"]
    earlier.path.unlink()
    answer = recorder.verify(image.number)
    assert answer["code"] == 5 and earlier.path.name in answer["said"]


def test_ranks_of_an_mpi_job(rdb: Rdb, build: Build) -> None:
    program = build("mpi/collectives.c")
    options = ("--hash-every", "1", "--checkpoint-every", "5")
    done = rdb("run", "-n", "2", "--name", "ring", *options, "--", program)
    assert done.returncode == 0, done.stderr
    job = open_job("ring")
    for number in (0, 1):
        events = [image.event for image in job.rank(number).images]
        # Hypercalls have no context of their own: the trap behind them takes the checkpoint.
        assert len(events) > job.rank(number).last_event / 10
    done = rdb("replay", "ring", "--checkpoint", "all", "--json")
    assert done.returncode == 0, done.stdout
    results = json.loads(done.stdout)
    assert len({(result["rank"], result["hash"]) for result in results}) == 2
