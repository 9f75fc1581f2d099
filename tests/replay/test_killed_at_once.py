"""A process that was killed while the image of its event 0 was written has nothing to replay."""

from __future__ import annotations

import bisect
from pathlib import Path

from conftest import Rdb

from rdb.recording import RankRecording, open_job


def _as_if_killed(program: RankRecording) -> None:
    """Leaves its log up to event 0, and no image."""
    for image in program.path.glob("ckpt-*"):
        image.unlink()
    log = program.path / "log-000000.seg"
    whole = log.read_bytes()

    def last_event(size: int) -> int:
        log.write_bytes(whole[:size])
        return RankRecording(program.path, program.files_dir, program.name).last_event

    head = 64
    last_event(head + bisect.bisect_left(range(head, len(whole)), 0, key=last_event))


def test_a_child_without_its_first_image(rdb: Rdb, tmp_path: Path) -> None:
    done = rdb("run", "--name", "job", "--", "sh", "-c", "(exit 4); exit 3")
    assert done.returncode == 3, done.stderr
    child = open_job("job").process(0).children[1].programs[-1]
    _as_if_killed(child)
    assert RankRecording(child.path, child.files_dir, child.name).last_event == 0
    replayed = rdb("replay", "job", "--verify")
    assert replayed.returncode == 0, replayed.stderr

    script = tmp_path / "script"
    script.write_text("where\n")
    attached = rdb("attach", "job", "--rank", child.name, "-x", script)
    assert f"process {child.name} ended before its first event" in attached.stderr
    assert attached.returncode == 1 and "ckpt-" not in attached.stderr
