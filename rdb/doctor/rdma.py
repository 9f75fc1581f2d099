"""RDMA devices, and pyverbs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine

_GROUP = "network"
_DEVICES = "/sys/class/infiniband"


def devices(machine: Machine) -> Iterator[Finding]:
    names = machine.entries(_DEVICES)
    if not names:
        meaning = "MPI uses shared memory and TCP; programs that need verbs do not run here"
        yield Finding(_GROUP, "RDMA devices", State.OK, "none", meaning)
    for name in names:
        yield _device(machine, name)


def _device(machine: Machine, name: str) -> Finding:
    what = f"RDMA device {name}"
    ports = machine.entries(f"{_DEVICES}/{name}/ports")
    states, links = set(), set()
    for port in ports:
        # "4: ACTIVE"
        state = machine.read(f"{_DEVICES}/{name}/ports/{port}/state") or "?"
        states.add(state.rpartition(" ")[2].lower())
        links.add(machine.read(f"{_DEVICES}/{name}/ports/{port}/link_layer") or "?")
    detail = f"{', '.join(sorted(links))}: {', '.join(sorted(states))}" if ports else "no ports"
    if "active" in states:
        meaning = "the MPI uses it; programs that call verbs themselves cannot be recorded yet"
        return Finding(_GROUP, what, State.OK, detail, meaning)
    meaning = "no port of it is up: the MPI will not use it"
    return Finding(_GROUP, what, State.DEGRADED, detail, meaning, "see `rdma link`")


def pyverbs(machine: Machine) -> Iterator[Finding]:
    """Found, not imported: importing it changes the logging of the whole process."""
    spec = importlib.util.find_spec("pyverbs")
    if spec is None or spec.origin is None:
        yield Finding(_GROUP, "pyverbs", State.OK, "not there", "only rdb's own tests would use it")
        return
    try:
        version = importlib.metadata.version("pyverbs")
    except importlib.metadata.PackageNotFoundError:
        version = "of the distribution"
    meaning = "must match the machine's libibverbs"
    yield Finding(_GROUP, "pyverbs", State.OK, f"{version}, {spec.origin}", meaning)


PROBES = (devices, pyverbs)
