"""Checkpoints of a job whose hosts share no disk, gathered on one host."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdb.agents.gathering import gather
from rdb.checked import to_json
from rdb.coordinate.centre import APART
from rdb.errors import UnknownJob
from rdb.recording import FORMAT, Job


@pytest.mark.parametrize(
    ("hosts", "why", "hint"),
    [
        ([], "no host of the job has it", "restart another checkpoint"),
        (["nowhere.invalid"], "nowhere.invalid does not answer", "try again when the host answers"),
    ],
    ids=["nobody", "unreachable"],
)
def test_an_image_that_is_missing(tmp_path: Path, hosts: list[str], why: str, hint: str) -> None:
    """What to do depends on whether a host that may have it has not answered."""
    tmp_path.chmod(0o700)
    meta = {"format": FORMAT, "name": "half", "nranks": 2, "hosts": hosts}
    (tmp_path / "job.json").write_text(to_json(meta))
    for name in (APART, "commit-1"):
        (tmp_path / name).touch()
    with pytest.raises(UnknownJob) as refused:
        gather(Job(tmp_path))
    assert refused.value.message.endswith(f" lacks the image of rank 0: {why}")
    assert str(refused.value.hint).startswith(hint)
