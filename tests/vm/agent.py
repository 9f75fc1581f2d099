"""In the guest, as its first process: soft-RoCE on eth0, then commands from the host, a line each.

A line from the host is a command as JSON; each is answered by {"id", "event": "ready"} when what it
was to wait for is there, and {"id", "event": "end", "code", "out", "err"}.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

LISTEN = "0A"  # of proc_net_tcp(5)
POLL_S = 0.05
LATE = 124  # as timeout(1)


def port(name: str) -> BinaryIO:
    """The virtio serial port of that name."""
    while True:
        for found in Path("/sys/class/virtio-ports").glob("*/name"):
            if found.read_text().strip() == name:
                return open(f"/dev/{found.parent.name}", "r+b", buffering=0)
        time.sleep(POLL_S)


def listening(what: str) -> bool:
    """tcp:PORT or cm:PORT (RDMA's connection manager): does anybody listen there?"""
    kind, _, number = what.partition(":")
    if kind == "tcp":
        tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
        rows = (r.split() for t in tables for r in t.read_text().splitlines()[1:])
        return any(r[3] == LISTEN and int(r[1].rpartition(":")[2], 16) == int(number) for r in rows)
    ids = subprocess.run(["rdma", "resource", "show", "cm_id"], capture_output=True, text=True)
    return any("LISTEN" in i and f":{number} " in i for i in ids.stdout.splitlines())


class Commands:
    """Those that run now, and the line to the host."""

    def __init__(self, host: BinaryIO) -> None:
        self.host = host
        self.lock = threading.Lock()

    def say(self, **what: object) -> None:
        with self.lock:
            self.host.write(json.dumps(what).encode() + b"\n")

    def serve(self) -> None:
        waiting = b""
        # When the host has gone, so goes the machine: its first process ends.
        while got := self.host.read(65536):
            waiting += got
            *lines, waiting = waiting.split(b"\n")
            for line in lines:
                threading.Thread(target=self.run, args=(json.loads(line),), daemon=True).start()

    def run(self, asked: dict[str, Any]) -> None:
        deadline = time.monotonic() + asked["timeout_s"]
        process = subprocess.Popen(
            ["/bin/sh", "-c", asked["command"]],
            cwd=asked["cwd"],
            env={**os.environ, **asked["env"]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if asked["ready"]:
            threading.Thread(target=self.watch, args=(asked, process, deadline)).start()
        try:
            out, err = process.communicate(timeout=deadline - time.monotonic())
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            code = LATE
        self.say(
            id=asked["id"],
            event="end",
            code=code,
            out=out.decode(errors="replace"),
            err=err.decode(errors="replace"),
        )

    def watch(self, asked: dict[str, Any], process: subprocess.Popen[bytes], end: float) -> None:
        while process.poll() is None and time.monotonic() < end:
            if listening(asked["ready"]):
                self.say(id=asked["id"], event="ready")
                return
            time.sleep(POLL_S)


def main() -> None:
    host = port("host")
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    rxe = ["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0"]
    made = subprocess.run(rxe, capture_output=True, text=True)
    commands = Commands(host)
    commands.say(event="up", code=made.returncode, err=made.stderr)
    commands.serve()


if __name__ == "__main__":
    # The first process hears of nothing but this when it ends: the console shows why.
    with open("/dev/console", "w") as sys.stdout, sys.stdout as sys.stderr:
        main()
