"""One guest as the host sees it: a qemu, and a line to the agent inside."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vm.kernel import Kernel

BOOT_S = 180
TIMEOUT_S = 120
MEMORY_MB = 2048
CPUS = 2
COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
AGENT = Path(__file__).with_name("agent.py").resolve()


class GuestDied(Exception):
    """The machine ended, or does not answer; with the end of its console."""


@dataclass(frozen=True)
class Done:
    """How a command ended; 124: it took too long."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


class Running:
    """A command that was started."""

    def __init__(self, guest: Guest, number: int, deadline: float) -> None:
        self._guest, self._number, self._deadline = guest, number, deadline

    def wait(self) -> Done:
        end = self._guest.expect(self._number, "end", self._deadline)
        return Done(end["code"], end["out"], end["err"])

    def until_ready(self) -> Running:
        """Until it listens, or has ended without."""
        self._guest.expect(self._number, "ready", self._deadline, or_end=True)
        return self


class Guest:
    """A machine, from its start to stop()."""

    def __init__(
        self,
        number: int,
        of: int,
        kernel: Kernel,
        folder: Path,
        net: str,
        options: str,
        plugin: str = "",
    ) -> None:
        self.name = f"g{number}"
        self._console = folder / "console"
        self._waiting: list[dict[str, Any]] = []
        self._rest = b""
        self._last = 0
        self.out = folder / "out"  # what the guest has written to /run/out
        for made in (folder / "guest", self.out):
            made.mkdir(parents=True)
        settings = f"NUMBER={number} GUESTS={of} AGENT={shlex.quote(str(AGENT))}\n"
        (folder / "guest/settings").write_text(settings)
        ours, theirs = socket.socketpair()
        with theirs, (folder / "qemu").open("w") as said:
            command = [*_qemu(kernel, folder, net, theirs.fileno(), number, options)]
            command += [*_processors(plugin)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=[theirs.fileno()],
            )
        self._said = folder / "qemu"
        self._line = ours

    def wait_up(self) -> None:
        up = self.expect(None, "up", time.monotonic() + BOOT_S)
        if up["code"]:
            raise GuestDied(f"no soft-RoCE in {self.name}: {up['err']}")

    def start(
        self,
        command: str,
        *,
        ready: str = "",
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Running:
        """A shell line; `ready`, tcp:PORT or cm:PORT, is where it will listen."""
        self._last += 1
        asked = {
            "id": self._last,
            "command": command,
            "ready": ready,
            "cwd": str(cwd),
            "env": dict(env or {}),
            "timeout_s": timeout_s,
        }
        self._line.settimeout(timeout_s)
        self._line.sendall(json.dumps(asked).encode() + b"\n")
        # The guest keeps the time; the host only notices when it does not answer.
        return Running(self, self._last, time.monotonic() + timeout_s + TIMEOUT_S)

    def run(self, command: str, **how: Any) -> Done:
        return self.start(command, **how).wait()

    def sent_packets(self) -> int:
        """RDMA packets that left rxe0, also to itself: TCP adds nothing here."""
        return int(self.run(f"cat {COUNTERS}/sent_pkts").out)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._line.close()

    def expect(
        self, number: int | None, event: str, deadline: float, *, or_end: bool = False
    ) -> dict[str, Any]:
        """The agent's word about a command; others' stay for those who wait for them."""
        while True:
            for i, said in enumerate(self._waiting):
                if said.get("id") == number and said["event"] == event:
                    return self._waiting.pop(i)
                if or_end and said.get("id") == number and said["event"] == "end":
                    return said
            self._waiting += self._receive(deadline)

    def _receive(self, deadline: float) -> list[dict[str, Any]]:
        self._line.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            got = self._line.recv(1 << 20)
        except TimeoutError:
            raise GuestDied(f"{self.name} does not answer\n{self._last_words()}") from None
        if not got:
            raise GuestDied(f"{self.name} ended\n{self._last_words()}")
        *lines, self._rest = (self._rest + got).split(b"\n")
        return [json.loads(line) for line in lines]

    def _last_words(self) -> str:
        files = [f for f in (self._said, self._console) if f.exists()]
        return "\n".join(f.read_text(errors="replace")[-3000:] for f in files)


def _accelerator() -> tuple[str, str]:
    """KVM where the processor has it: a /dev/kvm without it crawls with a stock kernel."""
    flags = Path("/proc/cpuinfo").read_text().split()
    if ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "kvm", "host"
    return "tcg", "max"


def _processors(plugin: str) -> Iterator[str]:
    """Plug-ins look at what is emulated alone."""
    accelerator, cpu = ("tcg", "max") if plugin else _accelerator()
    yield from ("-accel", accelerator, "-cpu", cpu, "-smp", "1" if plugin else str(CPUS))
    if plugin:
        yield from ("-plugin", plugin)


def _qemu(
    kernel: Kernel, folder: Path, net: str, line: int, number: int, options: str
) -> Iterator[str]:
    yield "qemu-system-x86_64"
    yield from ["-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-M", "q35"]
    yield from ("-m", str(MEMORY_MB))
    yield from ("-kernel", str(kernel.image), "-initrd", str(kernel.initramfs))
    yield "-append"
    yield (
        "console=ttyS0 quiet panic=-1 mitigations=off cryptomgr.notests random.trust_cpu=on "
        "no_timer_check tsc=reliable maxcpus=1 " + options
    )
    yield from ("-serial", f"file:{folder / 'console'}")
    yield from ("-device", "virtio-rng-pci", "-netdev", net)
    yield "-device"
    yield (
        "virtio-net-pci,netdev=net,romfile=,speed=1000,duplex=full,"
        f"mac=52:54:00:09:00:{number + 1:02x}"
    )
    yield from ("-device", "virtio-serial-pci", "-chardev", f"socket,id=host,fd={line}")
    yield from ("-device", "virtserialport,chardev=host,name=host")
    for tag, path in (("host", "/"), ("guest", folder / "guest"), ("modules", kernel.modules)):
        yield "-virtfs"
        yield (
            f"local,security_model=passthrough,path={path},mount_tag={tag},readonly=on,"
            "multidevs=remap"
        )
    yield "-virtfs"
    yield f"local,security_model=none,path={folder / 'out'},mount_tag=out"
