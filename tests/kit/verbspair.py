"""Two processes that talk through verbs, each recorded as a job of its own, then replayed alone."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import deadlines
from deadlines import Deadline

TIMEOUT_S = 180
GRACE_S = 10  # for the other side of one that failed


class Pair:
    """The two programs' exit codes and output; `names` are their jobs."""

    names = ("server", "client")

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.inside: dict[str, list[str]] = {}  # a command that runs another one somewhere else
        self.codes: list[int] = []
        self.out: list[str] = []
        self.err: list[str] = []

    def start(
        self, name: str, words: Sequence[str | Path], *options: str
    ) -> subprocess.Popen[bytes]:
        command = [*self.inside.get(name, ()), sys.executable, "-m", "rdb", "run"]
        command += ["--name", name, "--hca=soft"]
        command += ["--hash-every=1", *options, "--", *map(str, words)]
        # files: there is something to show of one that never ends
        with open(self.said(name, "out"), "w") as out, open(self.said(name, "err"), "w") as err:
            return subprocess.Popen(
                command, cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )

    def said(self, name: str, stream: str) -> Path:
        return self.cwd / f"{name}.{stream}"

    def finish(self, *processes: subprocess.Popen[bytes]) -> None:
        """Server and client.  Who waits for one that failed is ended soon; both have their say."""
        stacks = _await_ends(processes)
        for name, process in zip(self.names, processes, strict=True):
            end_tree(process)
            self.codes.append(process.wait(TIMEOUT_S))
            self.out.append(self.said(name, "out").read_text())
            self.err.append(self.said(name, "err").read_text())
        assert not stacks, "\n".join([*stacks, self.all_said()])

    def all_said(self) -> str:
        return "\n".join(
            f"== {name}: exit code {code}\n{out}{err}"
            for name, code, out, err in zip(self.names, self.codes, self.out, self.err, strict=True)
        )

    def check(self) -> None:
        assert self.codes == [0, 0], self.all_said()

    def replay(self) -> list[dict[str, object]]:
        """Each alone, every hash compared."""
        said = []
        for name in self.names:
            command = [sys.executable, "-m", "rdb", "replay", name, "--json"]
            done = deadlines.run(command, TIMEOUT_S, cwd=self.cwd)
            assert done.returncode == 0, (name, done.stdout, done.stderr)
            said.append(json.loads(done.stdout))
        return said


def _await_ends(processes: Sequence[subprocess.Popen[bytes]]) -> list[str]:
    """-> where those stand that do not end; who only waits for one that failed is not looked at."""
    deadline, grace = Deadline(TIMEOUT_S), None
    while any(process.poll() is None for process in processes):
        if not grace and any(process.poll() for process in processes):
            deadline = grace = Deadline(GRACE_S)
        if deadline.over():
            return [] if any(process.poll() for process in processes) else stacks_below(processes)
        time.sleep(0.02)
    return []


def children(pid: int) -> list[int]:
    """All processes below this one."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children(child)]
    return found


def stacks_below(processes: Sequence[subprocess.Popen[bytes]]) -> list[str]:
    said = []
    for pid in [pid for process in processes for pid in children(process.pid)]:
        line = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
        command = ["gdb", "-nx", "-p", str(pid), "-batch", "-ex", "print baton"]
        command += ["-ex", "print arrivals_waiting", "-ex", "thread apply all backtrace"]
        done = deadlines.run(command, 60)
        said.append(f"== does not end: {pid}: {line}\n{done.stdout}{done.stderr}")
    return said


def end_tree(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    for pid in [*children(process.pid), process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def record_pair(program: Path, cwd: Path, options: Sequence[str] = ()) -> Pair:
    """One of tests/programs/verbs_*.c: `prog server|client FILE`; OPTIONS are of `rdb run`."""
    pair = Pair(cwd)
    server = pair.start("server", [program, "server", "port"], *options)
    client = pair.start("client", [program, "client", "port"], *options)
    pair.finish(server, client)
    return pair


def record_pingpong(program: str, cwd: Path, *arguments: str) -> Pair:
    """One of ibverbs-utils: the client comes when the server listens."""
    pair = Pair(cwd)
    port = free_port()
    words = [program, *arguments, "-p", str(port)]
    server = pair.start("server", words)
    await_listener(port, server)
    client = pair.start("client", [*words, "localhost"])
    pair.finish(server, client)
    return pair


def free_port() -> int:
    """None of those that the kernel gives to whoever connects meanwhile (ip(7))."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(first // 2, first)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))
            return port


def await_listener(port: int, process: subprocess.Popen[bytes]) -> None:
    """Without connecting: the one connection that the server accepts is the client's."""
    wanted = f":{port:04X} "
    deadline = Deadline(TIMEOUT_S)
    while not deadline.over() and process.poll() is None:
        for table in (f"/proc/{process.pid}/net/tcp", f"/proc/{process.pid}/net/tcp6"):
            if not os.path.exists(table):
                continue
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and wanted.strip() in fields[1]:
                    return
        time.sleep(0.02)
    raise AssertionError(f"nobody listens at {port}: {process.poll()}")
