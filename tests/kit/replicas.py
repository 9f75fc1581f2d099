"""A recording, and replicas of it without a timeline."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import deadlines
from conftest import PROGRAMS

from rdb.paths import rdb_exec_path
from rdb.replay.agent import (
    AgentClient,
)

DEADLINE_S = 90


@dataclass
class Recorded:
    """A program, its recording, and replicas of it."""

    program: Path
    path: Path
    symbols: dict[str, int]
    started: list[tuple[AgentClient, subprocess.Popen[bytes]]] = field(default_factory=list)

    def replica(self) -> AgentClient:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [
                    *(rdb_exec_path(), "--replay", self.path / "rank-0"),
                    *("--files", self.path / "files", "--agent-fd", str(theirs.fileno())),
                ],
                pass_fds=[theirs.fileno()],
            )
        agent = AgentClient(ours)
        agent.hello()
        self.started.append((agent, process))
        return agent

    def value(self, agent: AgentClient, name: str, size: int = 8) -> int:
        return int.from_bytes(agent.read(self.symbols[name], size), "little")

    def close(self) -> None:
        for agent, process in self.started:
            agent.close()
            deadlines.wait(process, DEADLINE_S)
        self.started.clear()


def record(source: str, where: Path, *options: str, arguments: Sequence[str] = ()) -> Recorded:
    """OPTIONS are of the compiler, ARGUMENTS of rdb-exec."""
    program = where / source.removesuffix(".c")
    flags = ["-O1", "-g", "-no-pie", *options]  # addresses as in the symbol table
    subprocess.run(["gcc", *flags, PROGRAMS / source, "-o", program, "-lm"], check=True)
    for name in ("rank-0", "files"):
        (where / name).mkdir()
    rdb_exec = [rdb_exec_path(), "--dir", where / "rank-0", "--files", where / "files"]
    deadlines.run([*rdb_exec, *arguments, "--", program], DEADLINE_S)  # it ends as it likes
    listing = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in listing.splitlines()]
    return Recorded(program, where, {f[2]: int(f[0], 16) for f in lines if len(f) == 3})
