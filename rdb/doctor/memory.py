"""What checkpoints and snapshots of memory can use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine

_GROUP = "memory"
_HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"


def dirty_pages(machine: Machine) -> Iterator[Finding]:
    what = "dirty pages"
    if machine.probes[0] is None:
        return
    if machine.ability("userfaultfd_wp_async") and machine.ability("pagemap_scan"):
        meaning = "the kernel tells which pages the program wrote to"
        detail = "userfaultfd (asynchronous write-protect), PAGEMAP_SCAN"
        yield Finding(_GROUP, what, State.OK, detail, meaning)
        return
    meaning = "each checkpoint has to examine every page, which is slower"
    if not machine.ability("userfaultfd"):
        detail, remedy = (
            "no userfaultfd",
            "Linux 6.7 or newer, with a profile that allows userfaultfd",
        )
    else:
        detail, remedy = "userfaultfd without asynchronous write-protect", "Linux 6.7 or newer"
    yield Finding(_GROUP, what, State.DEGRADED, detail, meaning, remedy)


def soft_dirty(machine: Machine) -> Iterator[Finding]:
    if machine.probes[0] is None:
        return
    there = machine.ability("soft_dirty")
    meaning = "an older way to know which pages were written to; rdb does not use it"
    yield Finding(
        _GROUP, "soft-dirty bits", State.OK, "yes" if there else "no, not needed", meaning
    )


def huge_pages(machine: Machine) -> Iterator[Finding]:
    what = "huge pages"
    chosen = re.search(r"\[(\w+)\]", machine.read(_HUGE) or "")
    detail = chosen.group(1) if chosen else "the kernel has none"
    if chosen and detail != "never":
        meaning = "snapshots of big programs cost a few milliseconds"
        yield Finding(_GROUP, what, State.OK, detail, meaning)
        return
    meaning = "snapshots of a program of 1 GB cost 40 ms instead of 2"
    yield Finding(_GROUP, what, State.DEGRADED, detail, meaning, f"echo madvise > {_HUGE}")


def overcommit(machine: Machine) -> Iterator[Finding]:
    what = "overcommit"
    if machine.read("/proc/sys/vm/overcommit_memory") != "2":
        meaning = "snapshots share unchanged memory with the process they are made from"
        yield Finding(_GROUP, what, State.OK, "allowed", meaning)
        return
    meaning = "the kernel counts each snapshot's memory in full: large programs get ENOMEM"
    yield Finding(
        _GROUP, what, State.DEGRADED, "forbidden", meaning, "sysctl vm.overcommit_memory=0"
    )


PROBES = (dirty_pages, soft_dirty, huge_pages, overcommit)
