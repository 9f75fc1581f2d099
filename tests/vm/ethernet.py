"""Some guests, on one Ethernet if they are several."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from vm.guest import BOOT_S, Guest, GuestDied
from vm.kernel import kernel


@contextmanager
def guests(count: int = 1, kernel_options: str = "", plugin: str = "") -> Iterator[list[Guest]]:
    """Booted, side by side; gone when the block ends.  With a plug-in of qemu: of one processor."""
    made = kernel()
    with tempfile.TemporaryDirectory(prefix="rdb-vm-") as folder, ExitStack() as ending:
        where = Path(folder)
        nets = _hub(count, where, ending) if count > 1 else ["hubport,id=net,hubid=0"]
        machines = []
        for number, net in enumerate(nets):
            there = where / f"g{number}"
            machines.append(Guest(number, count, made, there, net, kernel_options, plugin))
            ending.callback(machines[-1].stop)
        for machine in machines:
            machine.wait_up()
        yield machines


def _hub(count: int, where: Path, ending: ExitStack) -> list[str]:
    """A qemu without a machine, whose hub has one Unix socket for each guest."""
    sockets = [where / f"net{i}" for i in range(count)]
    command = ["qemu-system-x86_64", "-M", "none", "-nodefaults", "-nographic"]
    for i, path in enumerate(sockets):
        command += ["-netdev", f"stream,id=s{i},server=on,addr.type=unix,addr.path={path}"]
        command += ["-netdev", f"hubport,id=h{i},hubid=0,netdev=s{i}"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    ending.callback(process.wait)
    ending.callback(process.kill)
    deadline = time.monotonic() + BOOT_S
    while not all(s.exists() for s in sockets):
        if process.poll() is not None or time.monotonic() > deadline:
            raise GuestDied("the Ethernet's qemu did not start")
        time.sleep(0.02)
    return [f"stream,id=net,server=off,addr.type=unix,addr.path={s}" for s in sockets]
