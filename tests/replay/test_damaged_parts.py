"""A part of a job is damaged: what is sound opens as ever, and what is lost is said."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.recording import RankRecording, open_job
from rdb.timeline import images
from rdb.timeline.position import Position
from rdb.timeline.timeline import Timeline

EVERY = 40
IMAGES = 5

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    """$RDB_HOME with a job of three ranks, each with some checkpoints."""
    home = tmp_path_factory.mktemp("home")
    program = build("mpi/loops.c", "-O1", compiler="mpicc")
    options = ("--checkpoint-every", str(EVERY))
    done = run_rdb(
        home, home, "run", "--name", "job", *options, "-n", "2", "--", str(program), "150"
    )
    assert done.returncode == 0, done.stderr
    for rank in open_job(home / "job").all_ranks():
        assert len(rank.images) > IMAGES
    return home


@pytest.fixture(autouse=True)
def every_image_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it saves next to no time."""
    monkeypatch.setattr(images, "_WORTH_S", -1.0)


@pytest.fixture
def copy(told: Path, tmp_path: Path) -> Path:
    home = tmp_path / "home"
    shutil.copytree(told / "job", home / "job")
    for folder in (tmp_path, home):
        folder.chmod(0o700)
    return home


def image(home: Path, number: int) -> Path:
    return home / f"job/rank-1/ckpt-{number:06}.img"


def flip(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0xFF]))


def flipped(share: float) -> Damage:
    return lambda path: flip(path, int(path.stat().st_size * share))


def cut(share: float) -> Damage:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def where(recording: RankRecording, event: int) -> tuple[object, list[str]]:
    """Registers at the end and at an event, and what was said to be lost."""
    with Timeline(recording) as timeline:
        ends = timeline.goto_end()
        assert ends.reason == "end"
        registers = [timeline.gpr]
        timeline.seek(Position(event))
        registers.append(timeline.gpr)
        return registers, timeline.lost


HOW: list[Damage] = [
    Path.unlink,
    *(cut(share) for share in (0, 0.1, 0.5, 0.99)),
    *(flipped(share) for share in (0, 0.3, 0.7)),
]


@pytest.mark.parametrize("number", range(IMAGES))
@pytest.mark.parametrize("how", range(len(HOW)))
def test_an_image_is_not_whole(told: Path, copy: Path, number: int, how: int) -> None:
    """A later one is not needed; without the first one the recording begins later."""
    rank = open_job(told / "job").rank(1)
    late = rank.images[-1].event + 1
    sound, nothing = where(rank, late)
    assert nothing == []
    HOW[how](image(copy, number))
    damaged, lost = where(open_job(copy / "job").rank(1), late)
    assert damaged == sound
    if number == 0:
        begins = rank.images[1].event
        assert [one.partition(":")[0] for one in lost] == [f"the events before {begins} are lost"]
    assert all(image(copy, number).name in one for one in lost)


def test_a_byte_anywhere_in_an_image(told: Path, copy: Path) -> None:
    rank = open_job(told / "job").rank(1)
    newest = rank.images[-1]
    sound, _ = where(rank, newest.event)
    path = image(copy, newest.number)
    chance = random.Random(1)
    refused = 0
    for _ in range(40):
        at = chance.randrange(path.stat().st_size)
        flip(path, at)
        damaged, lost = where(open_job(copy / "job").rank(1), newest.event)
        flip(path, at)
        assert damaged == sound, at
        refused += bool(lost)
    assert refused > 20


SCRIPT = "goto 30\ngoto end\n"


def attach(home: Path) -> str:
    script = home / "script"
    script.write_text(SCRIPT)
    done = run_rdb(home, home, "attach", "job", "-x", str(script))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_attach_says_what_is_lost(copy: Path) -> None:
    number = open_job(copy / "job").rank(1).images[-1].number
    flip(image(copy, number), 12)
    said = attach(copy)
    assert f"1: error: an older checkpoint is used: {image(copy, number)}: damaged: " in said
    assert "[0-1] end>" in said
    flip(image(copy, 0), 12)
    begins = open_job(copy / "job").rank(1).images[1].event
    said = run_rdb(copy, copy, "attach", "job", "-x", str(copy / "script"))
    assert f"the events before {begins} are lost: {image(copy, 0)}: damaged: " in said.stdout
    assert f"event 30 is not in the recording: it begins at {begins}; the events" in said.stdout


@pytest.mark.parametrize("name", ["head", "meta", "middle", "gone", "short"])
def test_the_log_of_one_rank_is_damaged(copy: Path, name: str) -> None:
    """The others answer."""
    log = copy / "job/rank-1/log-000000.seg"
    damages: dict[str, Damage] = {
        "head": lambda path: flip(path, 4),
        "meta": lambda path: flip(path, 100),
        "middle": flipped(0.5),
        "gone": Path.unlink,
        "short": cut(0.001),
    }
    damages[name](log)
    left_out = f"rdb: rank 1 is left out: {log}: "
    commands = {
        "bisect": ("job", "1 == 1"),
        "find-event": ("job", "mpi.init"),
        "messages": ("job",),
        "deadlock": ("job",),
        "timeline": ("job", "-o", str(copy / "page.html")),
    }
    for command, arguments in commands.items():
        done = run_rdb(copy, copy, command, *arguments)
        assert done.returncode in (0, 1), (command, done.stderr)
        assert left_out in done.stderr and done.stdout, (command, done.stderr)
    assert left_out in attach(copy)
    replayed = run_rdb(copy, copy, "replay", "job")
    assert replayed.returncode == 5 and "rank 0: " in replayed.stdout
    assert f"rank 1: replay failed: {log}: " in replayed.stderr
    alone = run_rdb(copy, copy, "attach", "job", "--rank", "1")
    assert alone.returncode == 5 and alone.stderr.count("\n") == 1


def test_bisect_says_of_which_ranks_it_does_not_know(copy: Path) -> None:
    """A search that could not be made is no negative answer."""
    for path in (copy / "job/rank-1").glob("*.img"):
        path.unlink()
    done = run_rdb(copy, copy, "bisect", "job", "1 == 1 || rank")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "no answer from: 1\n" in done.stdout
    report = json.loads(run_rdb(copy, copy, "bisect", "job", "rank == 5", "--json").stdout)
    assert [(one["rank"], one["unknown"]) for one in report["not_found"]] == [(0, False), (1, True)]


@pytest.mark.parametrize("how", ["torn", "gone", "strange"])
def test_job_json_is_not_whole(copy: Path, how: str) -> None:
    """The ranks say what the job was; which others there were nobody knows."""
    path = copy / "job/job.json"
    if how == "gone":
        path.unlink()
    else:
        path.write_text('{"format"' if how == "torn" else "[]")
    for command in (["attach", "-x", os.devnull], ["replay"], ["info"], ["find-event", "mpi.init"]):
        done = run_rdb(copy, copy, command[0], "job", *command[1:])
        assert done.returncode == 0 and done.stdout, (command, done.stderr)
        assert done.stderr.startswith(f"rdb: {path}: "), (command, done.stderr)
    path.write_text('{"format": 99}')
    assert run_rdb(copy, copy, "replay", "job").returncode == 3


def test_replay_begins_where_it_can(copy: Path) -> None:
    flip(image(copy, 0), 12)
    begins = open_job(copy / "job").rank(1).images[1].event
    for damage in (f"{image(copy, 0)}: damaged: ", f"{image(copy, 0)} is missing"):
        done = run_rdb(copy, copy, "replay", "job")
        assert done.returncode == 5
        assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["rank 0", "rank 1"]
        lost = f"rdb: rank 1: the events before {begins} are lost: {damage}"
        assert done.stderr.startswith(lost) and done.stderr.count("\n") == 1, done.stderr
        image(copy, 0).unlink(missing_ok=True)


def test_replay_from_all_that_are_whole(copy: Path) -> None:
    flip(image(copy, 2), 12)
    done = run_rdb(copy, copy, "replay", "job", "--rank", "1", "--checkpoint", "all")
    assert done.returncode == 5
    assert done.stdout.count("\n") == len(open_job(copy / "job").rank(1).images) - 1
    assert done.stderr.startswith("rdb: rank 1, turn 3: replay failed: ") and str(
        image(copy, 2)
    ) in (done.stderr)


def restarted(home: Path, *options: str) -> str:
    done = run_rdb(home, home, "restart", "job", "--name", "branch", *options)
    assert done.returncode == 0, done.stderr
    assert run_rdb(home, home, "replay", "branch").returncode == 0
    return done.stderr


def test_restart_with_a_log_that_ends_too_early(copy: Path) -> None:
    log = copy / "job/rank-1/log-000000.seg"
    index = open_job(copy / "job").rank(1).index
    flip(log, index._at(index.count * 3 // 4)[3] + 20)
    last = open_job(copy / "job").rank(1).last_event
    with subprocess.Popen(["true"]) as ended:
        pass
    (copy / f".until-damage.{os.uname().nodename}.{ended.pid}-1").mkdir()  # of an earlier restart
    said = restarted(copy)
    assert f"rdb: rank 1: the events after {last} are lost: {log}: offset " in said
    assert run_rdb(copy, copy, "info", "branch").stdout.count(f"1: {last}") == 1
    assert not list(copy.glob(".until-damage*"))


def test_restart_without_a_beginning(copy: Path) -> None:
    """Objects of MPI are made from the beginning on."""
    flip(image(copy, 0), 12)
    done = run_rdb(copy, copy, "restart", "job")
    assert (done.returncode, done.stderr.count("\n")) == (5, 1)
    assert done.stderr.startswith(f"rdb: {image(copy, 0)}: damaged: ")


def test_restart_from_an_older_image(tmp_path: Path, build: Build) -> None:
    """Of a program that opens nothing each image is enough."""
    program = build("many_rounds.c", "-O1")
    options = ("--name", "job", "--checkpoint-every", "20")
    assert run_rdb(tmp_path, tmp_path, "run", *options, "--", str(program), "200").returncode == 0
    rank = open_job(tmp_path / "job").rank(0)
    at = rank.images[-1].event
    plan = ("restart", "job", "--at", str(at), "--plan")
    sound = run_rdb(tmp_path, tmp_path, *plan)
    assert f"from checkpoint {rank.images[-1].number} " in sound.stdout, sound.stderr
    for left in (-2, -3):
        flip(rank.images[left + 1].path, 12)
        planned = run_rdb(tmp_path, tmp_path, *plan)
        assert f"from checkpoint {rank.images[left].number} " in planned.stdout
        lines = planned.stderr.splitlines()
        assert len(lines) == -left - 1
        assert all(line.startswith("rdb: rank 0: an older checkpoint is used: ") for line in lines)
    flip(rank.images[0].path, 12)
    said = restarted(tmp_path, "--at", str(at))
    assert said.count("an older checkpoint is used") == 2


@pytest.mark.parametrize("name", ["image", "log"])
def test_what_is_damaged_is_packed_as_it_is(copy: Path, name: str) -> None:
    """And the pack opens as the job does."""
    damaged = image(copy, 3) if name == "image" else copy / "job/rank-1/log-000000.seg"
    flipped(0.5)(damaged)
    pack = ("pack", "job", "-o", str(copy / "job.rdb"))
    for since in ((), ("--since", "3")):
        done = run_rdb(copy, copy, *pack, *since)
        assert done.returncode == 0 and f"rank 1{':' if name == 'image' else ' is packed'}" in (
            done.stderr
        )
        assert str(damaged) in done.stderr
        script = copy / "script"
        script.write_text("goto end\n")
        opened = run_rdb(copy, copy, "attach", str(copy / "job.rdb"), "-x", str(script))
        assert opened.returncode == 0, opened.stderr
        assert ("rank 1 is left out" in opened.stderr) == (name == "log")


@pytest.mark.parametrize("how", ["torn", "gone", "torso"])
def test_ls_lists_jobs_without_a_whole_job_json(copy: Path, how: str) -> None:
    path = copy / "job/job.json"
    if how == "torn":
        path.write_text('{"format"')
    else:
        path.unlink()
    if how == "torso":
        for rank in (copy / "job").glob("rank-*"):
            shutil.rmtree(rank)
        shutil.rmtree(copy / "job/files-sums")
    listed = run_rdb(copy, copy, "ls")
    assert (listed.returncode, listed.stderr) == (0, "")
    why = "offset 9: expected JSON" if how == "torn" else "No such file or directory"
    assert f"job.json: {why}" in listed.stdout.splitlines()[1]
    if how != "torso":
        assert "exited 0 (" in listed.stdout
    assert run_rdb(copy, copy, "rm", "job").returncode == 0
    assert run_rdb(copy, copy, "ls").stdout == ""
