"""Each kind of kernel state is kept at a checkpoint without a log, or refuses it."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from kinds import KINDS, PROGRAM, Kind
from queues import need_queues
from running import DEADLINE_S, BuildText, Running


@pytest.mark.parametrize("kind", KINDS, ids=[one.name for one in KINDS])
def test_it_is_kept_or_refused(kind: Kind, tmp_path: Path, build_text: BuildText) -> None:
    if kind.name == "posix-queue":
        need_queues()
    text = PROGRAM % (kind.outside, kind.before, kind.after)
    program = build_text("program", text, "-w", "-pthread", "-lrt", "-lutil")
    job = Running(tmp_path / "home", tmp_path, "job", "--", str(program))
    job.until("there")
    taken = job.rdb("checkpoint", "job", "--timeout", "90")
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(job.process, DEADLINE_S)
    assert job.process.returncode == 0, told
    if kind.refused:
        assert taken.returncode == 1 and kind.refused in taken.stderr, taken.stderr
        assert told.count(kind.refused) == 2, told  # at once, and at the end
        assert "there is no checkpoint: the checkpoint that was asked for failed" in told
        return
    assert taken.returncode == 0, taken.stderr
    assert "there is no checkpoint" not in told
    again = job.rdb("restart", "job")
    assert (again.returncode, again.stdout) == (0, said), again.stderr
