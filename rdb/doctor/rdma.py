"""RDMA devices, and pyverbs."""

from __future__ import annotations

from collections.abc import Iterator

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine

_GROUP = "network"
_DEVICES = "/sys/class/infiniband"


def devices(machine: Machine) -> Iterator[Finding]:
    names = machine.entries(_DEVICES)
    if not names:
        meaning = (
            "MPI uses shared memory and TCP; `rdb run --hca=soft` gives verbs programs a device"
        )
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
        meaning = "the MPI uses it, and so do verbs programs under rdb (--hca=real, or auto)"
        return Finding(_GROUP, what, State.OK, detail, meaning)
    meaning = "no port of it is up: the MPI will not use it"
    return Finding(_GROUP, what, State.DEGRADED, detail, meaning, "see `rdma link`")


_SYSTEM_PYTHON = "/usr/bin/python3"
# Runs in another process: importing pyverbs changes the logging of the whole process, and raises an
# error if the kernel has no verbs at all.
_ASK_PYVERBS = """
import pyverbs, pyverbs.device as device
print(pyverbs.__path__[0])
try:
    found = device.get_device_list()
except Exception:
    found = []
for one in found:
    with device.Context(name=one.name.decode()) as context:
        attr = context.query_device()
        print(f"{one.name.decode()}, ports: {attr.phys_port_cnt}, queue pairs: {attr.max_qp}")
"""


def pyverbs(machine: Machine) -> Iterator[Finding]:
    """Debian's package belongs to the system's Python, which also lists the devices."""
    python = machine.which("python3")
    code, text = machine.output(_SYSTEM_PYTHON, "-c", _ASK_PYVERBS) if python else (127, "")
    if code != 0 or not text:
        meaning = "only rdb's own tests need it"
        yield Finding(_GROUP, "pyverbs", State.OK, "not installed", meaning)
        return
    where, *devices = text.splitlines()
    seen = "; ".join(devices) if devices else "it finds no devices"
    meaning = "a program that uses it is recorded like any other of libibverbs"
    yield Finding(_GROUP, "pyverbs", State.OK, f"{where}: {seen}", meaning)


PROBES = (devices, pyverbs)
