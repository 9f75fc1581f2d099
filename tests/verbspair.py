"""Two processes that talk through verbs, each recorded as a job of its own, then replayed alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TIMEOUT_S = 90


class Pair:
    """The two programs' exit codes and output; `names` are their jobs."""

    names = ("server", "client")

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.codes: list[int] = []
        self.out: list[str] = []
        self.err: list[str] = []

    def start(self, name: str, words: Sequence[str | Path], *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rdb", "run", "--name", name, "--hca=soft"]
        command += ["--hash-every=1", *options, "--", *map(str, words)]
        return subprocess.Popen(
            command,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, *processes: subprocess.Popen[str]) -> None:
        try:
            for process in processes:
                out, err = process.communicate(timeout=TIMEOUT_S)
                self.codes.append(process.returncode)
                self.out.append(out)
                self.err.append(err)
        finally:
            for process in processes:
                process.kill()

    def check(self) -> None:
        assert self.codes == [0, 0], self.out + self.err

    def replay(self) -> list[dict[str, object]]:
        """Each alone, every hash compared."""
        said = []
        for name in self.names:
            command = [sys.executable, "-m", "rdb", "replay", name, "--json"]
            done = subprocess.run(
                command,
                cwd=self.cwd,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            assert done.returncode == 0, (name, done.stdout, done.stderr)
            said.append(json.loads(done.stdout))
        return said


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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_listener(port: int, process: subprocess.Popen[str]) -> None:
    """Without connecting: the one connection that the server accepts is the client's."""
    wanted = f":{port:04X} "
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            if not os.path.exists(table):
                continue
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and wanted.strip() in fields[1]:
                    return
        time.sleep(0.02)
    raise AssertionError(f"nobody listens at {port}: {process.poll()}")
