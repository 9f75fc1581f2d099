"""What works on this machine, and how to repair the rest: one function for each probe."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rdb.doctor import abilities, debugger, limits, memory, parallel, place, rdma, store
from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine

__all__ = ["Finding", "Machine", "State", "examine", "works"]

Probe = Callable[[Machine], Iterable[Finding]]

PROBES: tuple[Probe, ...] = (
    *abilities.PROBES,
    *memory.PROBES,
    *debugger.PROBES,
    *store.PROBES,
    *limits.PROBES,
    *parallel.PROBES,
    *rdma.PROBES,
    *place.PROBES,
)


def examine(machine: Machine) -> list[Finding]:
    """All findings, in the order in which they are shown."""
    return [finding for probe in PROBES for finding in probe(machine)]


def works(findings: Iterable[Finding]) -> bool:
    """True if nothing is missing that recording and debugging need."""
    return not any(found.essential and found.state is State.MISSING for found in findings)
