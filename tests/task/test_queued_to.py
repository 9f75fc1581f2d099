"""Signals for one thread, and for the process: who gets them."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb


def _what_is_certain(said: str) -> list[str]:
    """The order of handlers is not, nor how many signals before SIGRTMIN merge while they run."""
    lines = []
    for line in said.splitlines():
        head, _, rest = line.partition(":")
        parts = rest.replace(" handler ", "|handler ").replace(" taken ", "|taken ").split("|")[1:]
        queues = int(head.split()[1].rstrip(",")) >= 34
        taken = [part for part in parts if part.startswith("taken")]
        heard = sorted(part for part in parts if part.startswith("handler"))
        lines.append(f"{head}: {taken} {heard if queues else bool(heard)}")
    return lines


@pytest.mark.parametrize("record", ["full", "off"])
def test_who_gets_which(rdb: Rdb, build: Build, tmp_path: Path, record: str) -> None:
    program = build("queued_to.c", "-O1", "-pthread")
    native = deadlines.native([program]).stdout
    done = rdb("run", "--name", "job", "--record", record, "--", program)
    assert done.returncode == 0, done.stderr
    assert _what_is_certain(done.stdout) == _what_is_certain(native)
    assert "taken 36/-1/10', 'taken 36/0/0" in str(_what_is_certain(native))
    if record == "full":
        assert rdb("replay", "job", "--verify").returncode == 0


@pytest.mark.parametrize("record", ["full", "off"])
def test_none_is_lost_between_threads(rdb: Rdb, build: Build, record: str) -> None:
    program = build("signals_parallel.c", "-O1", "-pthread")
    done = rdb("run", "--name", "job", "--record", record, "--", program)
    assert (done.returncode, done.stdout) == (0, "6000 of 6000\n"), done.stderr
    if record == "full":
        assert rdb("replay", "job", "--verify").returncode == 0
