"""Containers and virtual machines: they explain other findings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine

_GROUP = "place"
_SMALL_SHM_BYTES = 256 << 20


def container(machine: Machine) -> Iterator[Finding]:
    kind = _container_kind(machine)
    if kind is None:
        yield Finding(
            _GROUP, "container", State.OK, "no", "programs use this machine's kernel directly"
        )
        return
    status = machine.read("/proc/self/status") or ""
    filtered = re.search(r"^Seccomp:\s*2$", status, re.M) is not None
    detail = f"{kind}, system calls are filtered" if filtered else kind
    meaning = "its profile may forbid perf_event_open, userfaultfd and ptrace: see their lines"
    yield Finding(_GROUP, "container", State.OK, detail, meaning)


def _container_kind(machine: Machine) -> str | None:
    if machine.exists("/.dockerenv"):
        return "Docker"
    if machine.exists("/run/.containerenv"):
        return "Podman"
    if machine.exists("/.singularity.d") or machine.exists("/singularity"):
        return "Apptainer"
    groups = machine.read("/proc/1/cgroup") or ""
    found = re.search(r"docker|lxc|kubepods|containerd|podman", groups)
    return found.group(0) if found else None


def virtual_machine(machine: Machine) -> Iterator[Finding]:
    flags = re.search(r"^flags\s*:(.*)$", machine.read("/proc/cpuinfo") or "", re.M)
    virtual = flags is not None and " hypervisor" in flags.group(1)
    if not virtual:
        yield Finding(
            _GROUP, "virtual machine", State.OK, "no", "all features of the CPU are available"
        )
        return
    vendor = machine.read("/sys/class/dmi/id/sys_vendor")
    detail = f"yes, {vendor}" if vendor else "yes"
    meaning = "hardware counters may be lacking; rdb needs none"
    yield Finding(_GROUP, "virtual machine", State.OK, detail, meaning)


def shared_memory(machine: Machine) -> Iterator[Finding]:
    """Containers have 64 MiB of it by default; MPI ranks get SIGBUS when it is full."""
    try:
        stat = os.statvfs(machine.root / "dev/shm")
    except OSError:
        meaning = "MPI ranks on one machine cannot use shared memory"
        yield Finding(_GROUP, "/dev/shm", State.DEGRADED, "missing", meaning, "mount a tmpfs on it")
        return
    free = stat.f_bavail * stat.f_frsize
    detail = f"{free / (1 << 20):.0f} MiB free"
    if free >= _SMALL_SHM_BYTES:
        meaning = "shared memory of MPI ranks on one machine"
        yield Finding(_GROUP, "/dev/shm", State.OK, detail, meaning)
    else:
        meaning = "MPI ranks on one machine may die of SIGBUS when it is full"
        remedy = "docker run --shm-size=2g, or mount it with a larger size"
        yield Finding(_GROUP, "/dev/shm", State.DEGRADED, detail, meaning, remedy)


PROBES = (container, virtual_machine, shared_memory)
