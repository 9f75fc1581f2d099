"""What else than log and images a recording has is checked, too: a flipped byte is told."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.checked import from_json, line_of, to_json
from rdb.coordinate.coordinated import committed, damaged_commits
from rdb.errors import DamagedRecording
from rdb.live.rank import plan_line, write_plan
from rdb.recording import Job, RankRecording, open_job

OWN_CHECKSUMS = ("log-", "ckpt-")  # looked at where they are read
ALTER = (
    "file-",
    "floors",
    "pids",
    "readers",
    "kept-",
    "cautions",
    "sums",
)  # while the branch runs, or tested below


def flip(path: Path, at: int) -> None:
    with path.open("r+b", buffering=0) as file:
        byte = os.pread(file.fileno(), 1, at)[0]
        os.pwrite(file.fileno(), bytes([byte ^ 0x01]), at)


def flipped(path: Path) -> Iterator[int]:
    """One byte after the other; afterwards it is as it was."""
    for at in range(path.stat().st_size):
        flip(path, at)
        yield at
        flip(path, at)


def recorded(home: Path, *run: str) -> Path:
    home.chmod(0o700)
    done = run_rdb(home, home, "run", "--name", "job", *run)
    assert done.returncode == 0, done.stderr
    return home / "job"


def test_each_byte_of_job_json(tmp_path: Path) -> None:
    path = recorded(tmp_path, "--", "/bin/true") / "job.json"
    sound = open_job(path.parent).meta
    assert "crc32c" not in sound
    for at in flipped(path):
        meta = Job(path.parent).meta
        assert meta == sound or meta["damage"].startswith(str(path)), (at, meta)


def test_json_with_a_checksum() -> None:
    with pytest.raises(ValueError, match="expected a checksum"):
        from_json('{"a": 1}')
    assert from_json(to_json({"a": "ü\\u2028"})) == {"a": "ü\\u2028"}
    assert json.loads(to_json({"a": 1}))["a"] == 1
    with pytest.raises(ValueError, match="expected the CRC-32C"):
        from_json(to_json({"a": 1}).replace("1", "2", 1))


def test_each_byte_of_a_commit(build: Build, tmp_path: Path) -> None:
    path = recorded(tmp_path, "--record=off", "--", str(build("damaged_checkpoints.c", "-O1")))
    job, sound = open_job(path), committed(path)
    assert len(sound) == 3 and damaged_commits(job) == []
    for at in flipped(path / "commit-2"):
        found = committed(path)
        assert found == sound or "commit-2" in damaged_commits(job)[0], at


def test_each_byte_of_cautions(build: Build, tmp_path: Path) -> None:
    program = str(build("shared_race.c", "-O1", "-pthread"))
    path = recorded(tmp_path, "--no-children", "--", program) / "rank-0/cautions"
    rank = RankRecording(path.parent, path.parent.parent / "files")
    sound = rank.cautions
    assert sound and all(text.startswith("event") and "~" not in text for text in sound)
    for at in flipped(path):
        assert any(str(path) in text and "damaged" in text for text in rank.cautions), at
    assert rank.cautions == sound
    assert line_of(b"event 1: something") is None


@pytest.mark.slow
def test_what_was_in_a_file(tmp_path: Path) -> None:
    """Its bytes of before are beside the log: a branch does not get other ones."""
    script = "echo before > f; sleep 0.01; echo after > f; cat f"
    path = recorded(tmp_path, "--", "/bin/sh", "-c", script)
    kept = path / "rank-0/kept-0"
    assert kept.read_text() == "before\n"
    events = open_job(path).rank(0).last_event
    answers = []
    for at in (None, 2):
        if at is not None:
            flip(kept, at)
        for event in range(1, events, 7):
            done = run_rdb(tmp_path, tmp_path, "restart", "job", "--at", str(event))
            answers.append((at, done.returncode, "kept-0 is not what" in done.stderr))
            assert "beforf" not in done.stdout and "bfgore" not in done.stdout
    assert any(told for at, _, told in answers if at is not None), answers
    assert not any(told for at, _, told in answers if at is None), answers


def test_what_was_in_a_file_at_a_checkpoint(build: Build, tmp_path: Path) -> None:
    path = recorded(tmp_path, "--record=off", "--", str(build("damaged_checkpoints.c", "-O1")))
    (was,) = (path / "rank-0").glob("was-3-*")
    flip(was, 0)
    done = run_rdb(tmp_path, tmp_path, "restart", "job", "--at", "ckpt:3")
    assert done.returncode in (5, 125) and f"{was.name} is damaged" in done.stderr, done
    done = run_rdb(tmp_path, tmp_path, "restart", "job")
    assert done.returncode == 0, done
    assert was.name in done.stderr and "from checkpoint 2 of job" in done.stderr, done


def test_what_a_branch_began_with(build: Build, tmp_path: Path) -> None:
    """A restart of the branch refuses, and names the file."""
    program = str(build("live_renames.c", "-O1"))
    path = recorded(tmp_path, "--", program)
    middle = open_job(path).rank(0).last_event // 2
    done = run_rdb(tmp_path, tmp_path, "restart", "job", "--at", str(middle), "--name", "branch")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "branch/rank-0"
    names = [
        one.name
        for one in sorted(folder.iterdir())
        if one.is_file() and not one.name.startswith((*OWN_CHECKSUMS, *ALTER))
    ]
    assert "descriptors" in names
    for name in names:
        if not (folder / name).stat().st_size:
            continue
        flip(folder / name, (folder / name).stat().st_size // 2)
        done = run_rdb(tmp_path, tmp_path, "restart", "branch", "--at", "2", "--name", "again")
        assert done.returncode in (5, 125), (name, done)
        assert f"{name} is damaged" in done.stderr, (name, done)
        flip(folder / name, (folder / name).stat().st_size // 2)
        shutil.rmtree(tmp_path / "again", ignore_errors=True)
    flip(folder / "sums", 3)
    done = run_rdb(tmp_path, tmp_path, "restart", "branch", "--at", "2", "--name", "again")
    assert done.returncode == 0 and "sums beside it has no checksum of this file" in done.stderr, (
        done
    )


def test_a_branch_of_a_branch(tmp_path: Path) -> None:
    """Tables that the processes of the branch go on with are no damage."""
    command = ["/bin/sh", "-c", "cat /dev/null; echo > written; cat written; cat written"]
    assert (recorded(tmp_path, "--", *command) / "rank-0/readers").exists()
    for job, branch in (("job", "branch"), ("branch", "again")):
        middle = str(open_job(tmp_path / job).rank(0).last_event // 2)
        done = run_rdb(tmp_path, tmp_path, "restart", job, "--at", middle, "--name", branch)
        assert done.returncode == 0 and "damaged" not in done.stderr, done


def test_a_plan_of_a_restart_that_is_damaged(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    write_plan(str(tmp_path), {0: {"argv": ["a"], "options": [], "mpi": None, "cwd": "/"}})
    path = tmp_path / "restart.json"
    path.write_text(path.read_text().replace('"/"', '"."'))
    with pytest.raises(DamagedRecording, match=r"restart\.json: expected the CRC-32C"):
        plan_line(str(tmp_path), 0)
