"""What a branch has to show when it has ended, whatever its program is."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable

from events import written

from rdb.live.cut.consistent import Cut
from rdb.recording import Job


def branch_at(
    rdb: Callable[..., subprocess.CompletedProcess[str]],
    job: Job,
    said: Counter[str],
    place: tuple[int, int, Cut],
    name: str,
) -> Counter[str]:
    """Restarts the job there, under that name: what the branch has said, which SAID has, too."""
    rank, event, cut = place
    done = rdb("restart", job.name, "--rank", str(rank), "--at", str(event), "--name", name)
    assert done.returncode == 0, f"{cut.events}: {done.stderr}"
    again = Counter(done.stdout.splitlines())
    assert again <= said, cut.events
    return again


def restart_at(
    rdb: Callable[..., subprocess.CompletedProcess[str]],
    job: Job,
    said: Counter[str],
    rank: int,
    event: int,
    cut: Cut,
    where: str,
) -> None:
    """Restarts the job there: the branch says what the job (SAID: all of it) had not said by
    the cut, a line for each write; and its own recording replays."""
    done = rdb("restart", job.name, "--rank", str(rank), "--at", str(event), "--name", "cut")
    assert done.returncode == 0, f"{where}: {done.stderr}"
    again = Counter(done.stdout.splitlines())
    assert again <= said, where
    assert again.total() == said.total() - written(job, cut.events), where
    verified = rdb("replay", "cut", "--verify")
    assert verified.returncode == 0, f"{where}: {verified.stderr}"
    rdb("rm", "cut")
