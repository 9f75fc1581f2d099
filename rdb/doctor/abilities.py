"""Abilities of the kernel and the CPU, as `rdb-exec --probe` reports them."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine

_GROUP = "kernel and CPU"


def lower_half(machine: Machine) -> Iterator[Finding]:
    answer, what = machine.probes
    meaning = "loads the program; records and replays it"
    if answer is None and machine.too_old:
        meaning = "rdb's own code uses these instructions: nothing can be recorded"
        remedy = "a CPU of 2011 or newer, and a virtual machine that passes AVX on"
        yield Finding(_GROUP, "CPU", State.MISSING, machine.too_old, meaning, remedy, True)
    elif answer is None:
        yield Finding(_GROUP, "rdb-exec", State.MISSING, what, meaning, "`make dev`", True)
    else:
        yield Finding(_GROUP, "rdb-exec", State.OK, what, meaning, essential=True)


def kernel(machine: Machine) -> Iterator[Finding]:
    version = machine.read("/proc/sys/kernel/osrelease") or platform.release()
    meaning = "rdb tests each feature below; it does not rely on this version"
    yield Finding(_GROUP, "kernel", State.OK, f"Linux {version}", meaning)


def system_calls(machine: Machine) -> Iterator[Finding]:
    """Whether the program's system calls can be caught."""
    what, meaning = "system calls", "how the program's system calls are caught"
    if machine.ability("sud"):
        yield Finding(_GROUP, what, State.OK, "Syscall User Dispatch", meaning, essential=True)
    elif machine.ability("seccomp"):
        meaning = "the filter also sees the system calls of rdb and the MPI, which is slower"
        remedy = "Linux 5.11 or newer has Syscall User Dispatch"
        yield Finding(_GROUP, what, State.DEGRADED, "seccomp filter", meaning, remedy, True)
    else:
        meaning = "the program's system calls cannot be caught: nothing can be recorded"
        remedy = "Linux 5.11 or newer; in a container one whose seccomp profile allows prctl"
        yield Finding(_GROUP, what, State.MISSING, "cannot be caught", meaning, remedy, True)


def seccomp(machine: Machine) -> Iterator[Finding]:
    what, meaning = (
        "seccomp fall-back",
        "takes the place of Syscall User Dispatch before Linux 5.11",
    )
    if machine.ability("seccomp"):
        yield Finding(_GROUP, what, State.OK, "can be used", meaning)
    elif machine.ability("sud"):
        yield Finding(_GROUP, what, State.OK, "cannot be used, not needed", meaning)
    else:
        remedy = "a kernel with CONFIG_SECCOMP_FILTER, a container that allows seccomp"
        yield Finding(_GROUP, what, State.MISSING, "cannot be used", meaning, remedy)


def fsgsbase(machine: Machine) -> Iterator[Finding]:
    what = "FSGSBASE"
    if machine.ability("fsgsbase"):
        meaning = "switches between the program's and rdb's thread pointer"
        yield Finding(_GROUP, what, State.OK, "yes", meaning)
        return
    meaning = "rdb emulates it: each system or MPI call of the program takes several times as long"
    remedy = "Linux 5.9 or newer, without nofsgsbase, on a CPU of 2012 or newer"
    yield Finding(_GROUP, what, State.DEGRADED, "no", meaning, remedy)


def cpu(machine: Machine) -> Iterator[Finding]:
    answer, _ = machine.probes
    about = (answer or {}).get("cpu")
    if not isinstance(about, dict):
        return
    detail = f"{about['vendor']}, x86-64-v{about['level']}"
    if about["level"] > about["shown"]:
        detail += f", programs are shown v{about['shown']}"
    meaning = "rdb run --cpu sets the level shown; a lower one lets older CPUs replay the recording"
    yield Finding(_GROUP, "CPU", State.OK, detail, meaning, essential=True)


def cpuid_faulting(machine: Machine) -> Iterator[Finding]:
    """Without it CPUID is patched, which works everywhere."""
    if machine.ability("cpuid_faulting"):
        meaning = "CPUID is recorded, also in code that the program makes while it runs"
        yield Finding(_GROUP, "CPUID faulting", State.OK, "yes", meaning)
        return
    meaning = "CPUID is recorded, except in code that the program writes over code that has run"
    yield Finding(_GROUP, "CPUID faulting", State.OK, "no", meaning)


def tsc_faulting(machine: Machine) -> Iterator[Finding]:
    if machine.ability("tsc_faulting"):
        meaning = "the time-stamp counter's values are recorded"
        yield Finding(_GROUP, "rdtsc faulting", State.OK, "yes", meaning)
        return
    meaning = "programs that use rdtsc cannot be replayed"
    remedy = "a kernel and a seccomp profile that allow prctl(PR_SET_TSC)"
    yield Finding(_GROUP, "rdtsc faulting", State.DEGRADED, "no", meaning, remedy)


def breakpoints(machine: Machine) -> Iterator[Finding]:
    what = "hardware breakpoints"
    if machine.ability("perf_breakpoints"):
        meaning = "perf_event with sigtrap: watchpoints at full speed"
        yield Finding(_GROUP, what, State.OK, "yes", meaning)
        return
    paranoid = machine.read("/proc/sys/kernel/perf_event_paranoid")
    if paranoid and paranoid.lstrip("-").isdigit() and int(paranoid) > 2:
        detail = f"no, perf_event_paranoid is {paranoid}"
        remedy = "sysctl kernel.perf_event_paranoid=2; Linux 5.13 or newer"
    else:
        detail = "no"
        remedy = "Linux 5.13 or newer; in a container one whose profile allows perf_event_open"
    meaning = "watchpoints and `last` step through the program, hundreds of times slower"
    yield Finding(_GROUP, what, State.DEGRADED, detail, meaning, remedy)


def abilities(machine: Machine) -> Iterator[Finding]:
    """The probes that rdb-exec answers; without its answer nothing is known."""
    if machine.probes[0] is None:
        return
    for probe in _ABILITIES:
        yield from probe(machine)


_ABILITIES = (system_calls, seccomp, fsgsbase, cpu, cpuid_faulting, tsc_faulting, breakpoints)
PROBES = (lower_half, kernel, abilities)
