"""Mistakes that a run shows rarely: how many runs show them, also with --chaos."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from bench.figures import Section
from bench.setup import Bench, BenchError, last_words
from bench.ways import NATIVE, RECORDED, alternate, scratch, through_rdb_exec

TITLE = "Rare mistakes"
CHAOS = "--chaos"
MISTAKES = (
    "lost_update",
    "lost_increment",
    "missed_wake_up",
    "double_check",
    "aba",
    "torn",
    "lock_order",
    "early_free",
    "signal_pause",
    "pipe_order",
    "check_then_act",
)
SHOWN = 1  # exit code


def measure(bench: Bench, section: Section) -> None:
    if bench.scale.rounds < 2:
        section.notes.append("not measured: hundreds of runs are more than a quick look")
        return
    program = str(bench.program("rare.c", "-pthread"))
    rounds = 10 * bench.scale.rounds
    for mistake in MISTAKES:
        shown = dict.fromkeys((NATIVE, RECORDED, CHAOS), 0)

        def once(way: str, mistake: str = mistake, shown: dict[str, int] = shown) -> None:
            options = [CHAOS] if way == CHAOS else []
            with scratch(bench) as folder:
                shown[way] += _shows([*through_rdb_exec(way, folder, *options), program, mistake])

        alternate(rounds, tuple(shown), once)
        runs = ", ".join(f"{n} {way}" for way, n in shown.items())
        section.notes.append(f"{mistake}: of {rounds} runs each, these show it: {runs}")


def _shows(command: Sequence[str]) -> bool:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in (0, SHOWN):
        raise BenchError(f"{command[-1]} failed", last_words(done.stderr))
    return done.returncode == SHOWN
