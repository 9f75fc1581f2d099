"""Resource limits (ulimit) that can be too low."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine

_GROUP = "limits"
_GIB = 1 << 30
_FEW_FILES = 256


def _size(limit: int | None) -> str:
    if limit is None:
        return "unlimited"
    if limit < 1 << 20:
        return f"{limit >> 10} KiB" if limit else "0"
    return f"{limit / _GIB:g} GiB" if limit >= _GIB else f"{limit / (1 << 20):g} MiB"


def files(machine: Machine) -> Iterator[Finding]:
    limit = machine.limit(resource.RLIMIT_NOFILE)
    detail = "unlimited" if limit is None else str(limit)
    if limit is None or limit >= _FEW_FILES:
        meaning = "rdb uses the highest descriptors below this limit for itself"
        yield Finding(_GROUP, "open files", State.OK, detail, meaning)
    else:
        meaning = "rdb uses a quarter of them; the program has only the rest"
        yield Finding(_GROUP, "open files", State.DEGRADED, detail, meaning, "ulimit -n 1024")


def stack(machine: Machine) -> Iterator[Finding]:
    limit = machine.limit(resource.RLIMIT_STACK)
    detail, meaning = _size(limit), "the program gets a stack of this size"
    if limit is None or limit > _GIB:
        yield Finding(_GROUP, "stack", State.OK, detail, f"{meaning}, of 1 GiB at most")
    elif limit < 1 << 20:
        meaning = "smaller than most programs expect"
        yield Finding(_GROUP, "stack", State.DEGRADED, detail, meaning, "ulimit -s 8192")
    else:
        yield Finding(_GROUP, "stack", State.OK, detail, meaning)


def core(machine: Machine) -> Iterator[Finding]:
    detail = _size(machine.limit(resource.RLIMIT_CORE))
    meaning = "not needed: a recording replays up to the crash"
    yield Finding(_GROUP, "core files", State.OK, detail, meaning)


def locked_memory(machine: Machine) -> Iterator[Finding]:
    """RDMA locks the memory that it registers."""
    limit = machine.limit(resource.RLIMIT_MEMLOCK)
    detail, what = _size(limit), "locked memory"
    if limit is not None and machine.entries("/sys/class/infiniband"):
        meaning = "RDMA locks the memory it uses; MPI over InfiniBand may fail or be slow"
        yield Finding(_GROUP, what, State.DEGRADED, detail, meaning, "ulimit -l unlimited")
    else:
        yield Finding(_GROUP, what, State.OK, detail, "only RDMA needs it")


def _unbounded(
    limit: int | None, what: str, option: str, free: str, bounded: str
) -> Iterator[Finding]:
    detail = _size(limit)
    if limit is None:
        yield Finding(_GROUP, what, State.OK, detail, free)
    else:
        yield Finding(_GROUP, what, State.DEGRADED, detail, bounded, f"ulimit -{option} unlimited")


def file_size(machine: Machine) -> Iterator[Finding]:
    yield from _unbounded(
        machine.limit(resource.RLIMIT_FSIZE),
        "file size",
        "f",
        "logs and images may grow",
        "recording ends when a log segment or a checkpoint's image reaches this size",
    )


def address_space(machine: Machine) -> Iterator[Finding]:
    reserves = "rdb reserves a large range of addresses"
    yield from _unbounded(
        machine.limit(resource.RLIMIT_AS),
        "address space",
        "v",
        reserves,
        f"{reserves}; the program's mmap may fail with ENOMEM",
    )


PROBES = (files, stack, core, locked_memory, file_size, address_space)
