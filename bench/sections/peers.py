"""Checkpoints of one process and of four ranks: rdb beside DMTCP, in turns.

A pause is what the program sees: the longest time in which it did not run. A restart lasts from the
command to the first line that the program prints. The variable DMTCP names the folder of a built
one; without it rdb is measured alone.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bench.figures import Section, response
from bench.sections.coordinated import kill
from bench.setup import Bench, BenchError
from bench.ways import environment, scratch
from rdb.launch.command import own_command

TITLE = "Checkpoints beside DMTCP's"
RANKS = 4
RANK_MB = 100
_WAIT_S = 120.0
_SETTLE = 10  # lines before and after a checkpoint


class Peer(Protocol):
    name: str

    def run_line(self, program: Sequence[str], ranks: int) -> list[str]:
        """RANKS: 0 for a program without MPI."""

    def checkpoint_line(self) -> list[str]: ...

    def image_bytes(self) -> int: ...

    def kill(self) -> None: ...

    def restart_line(self) -> list[str]: ...


class Rdb:
    name = "rdb"

    def __init__(self, folder: Path) -> None:
        self._folder, self._job = folder, "job"

    def run_line(self, program: Sequence[str], ranks: int) -> list[str]:
        where = ["-n", str(ranks)] if ranks else []
        return [*own_command(), "run", "--record=off", "--name", "job", *where, "--", *program]

    def checkpoint_line(self) -> list[str]:
        return [*own_command(), "checkpoint", self._job, "--timeout", f"{_WAIT_S:.0f}"]

    def image_bytes(self) -> int:
        images = (self._folder / self._job).glob("rank-*/ckpt-*.img")
        return sum(path.stat().st_blocks * 512 for path in images)

    def kill(self) -> None:
        kill(self._folder / self._job)

    def restart_line(self) -> list[str]:
        self._job = "again"
        return [*own_command(), "restart", "job", "--name", self._job]


class Dmtcp:
    name = "DMTCP"

    def __init__(self, folder: Path, built: Path) -> None:
        self._folder, self._bin, self._port = folder, built / "bin", folder / "port"

    def _coordinator(self) -> list[str]:
        self._port.unlink(missing_ok=True)
        return ["--new-coordinator", "-p", "0", "--port-file", str(self._port), "-q", "-q"]

    def _command(self, what: str) -> list[str]:
        port = self._port.read_text().strip()
        return [str(self._bin / "dmtcp_command"), "-q", "-p", port, what]

    def run_line(self, program: Sequence[str], ranks: int) -> list[str]:
        line = [str(self._bin / "dmtcp_launch"), *self._coordinator(), "--no-gzip"]
        line += ["--ckptdir", str(self._folder)]
        mpirun = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks else []
        return [*line, *mpirun, *program]

    def checkpoint_line(self) -> list[str]:
        return self._command("-bc")

    def image_bytes(self) -> int:
        return sum(path.stat().st_blocks * 512 for path in self._folder.glob("ckpt_*.dmtcp"))

    def kill(self) -> None:
        subprocess.run(self._command("-k"), check=False, stdout=subprocess.DEVNULL)

    def restart_line(self) -> list[str]:
        images = sorted(map(str, self._folder.glob("ckpt_*.dmtcp")))
        return [str(self._bin / "dmtcp_restart"), *self._coordinator(), *images]


def measure(bench: Bench, section: Section) -> None:
    if bench.scale.rounds < 2:
        section.notes.append("not measured: it is more than a quick look")
        return
    built = Path(os.environ.get("DMTCP") or "/nowhere")
    names = ["rdb", *(["DMTCP"] if (built / "bin/dmtcp_launch").exists() else [])]
    if len(names) == 1:
        section.notes.append("DMTCP: not measured; DMTCP=FOLDER names a built one")
    alone = str(bench.program("peers.c"))
    programs: dict[str, tuple[int, int, list[str]]] = {
        f"one process, {size} MB": (size, 0, [alone, str(size)])
        for size in bench.scale.checkpoint_sizes_mb
    }
    ranks = str(bench.program("coordinated_steps.c", compiler="mpicc"))
    program = [ranks, str(RANK_MB), "0", "gate", "5"]
    programs[f"{RANKS} ranks of {RANK_MB} MB"] = (RANK_MB, RANKS, program)
    for what, (size, number, line) in programs.items():
        found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in names}
        for turn in range(bench.scale.checkpoint_rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                with scratch(bench) as folder:
                    peer: Peer = Rdb(folder) if name == "rdb" else Dmtcp(folder, built)
                    found[name].append(_once(peer, line, number, environment(folder)))
        for name, times in found.items():
            pauses, restarts, sizes = zip(*times, strict=True)
            section.responses.append(response(f"{name}, {what}: pause", name, size, pauses))
            section.responses.append(response(f"{name}, {what}: restart", name, size, restarts))
            section.notes.append(f"{name}, {what}: images {sizes[-1] / 1e6:.0f} MB")


def _once(
    peer: Peer, program: Sequence[str], ranks: int, env: dict[str, str]
) -> tuple[float, float, int]:
    """Pause and restart in seconds, and bytes of the images."""
    job = _begun(peer.run_line(program, ranks), env)
    try:
        for _ in range(_SETTLE):
            _turn(peer, job)
        taker = _begun(peer.checkpoint_line(), env)
        late = time.monotonic() + _WAIT_S
        pause = 0.0
        while taker.poll() is None and time.monotonic() < late:
            pause = max(pause, _turn(peer, job))
        if taker.poll() != 0:
            raise BenchError(f"{peer.name} took no checkpoint in {_WAIT_S:.0f} s")
        pause = max(pause, *(_turn(peer, job) for _ in range(_SETTLE)))
        size = peer.image_bytes()
    finally:
        peer.kill()
        job.communicate()
    begun = time.perf_counter()
    again = _begun(peer.restart_line(), env)
    try:
        _turn(peer, again)
        took = time.perf_counter() - begun
    finally:
        peer.kill()
        again.communicate()
    return pause, took, size


def _begun(line: Sequence[str], env: dict[str, str]) -> subprocess.Popen[str]:
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    quiet = {"HWLOC_COMPONENTS": "-linuxio,-pci"}  # DMTCP cannot keep the folders that it looks at
    return subprocess.Popen(
        line,
        env={**env, **as_root, **quiet},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _turn(peer: Peer, job: subprocess.Popen[str]) -> float:
    """The next line's seconds."""
    assert job.stdout is not None
    for line in job.stdout:
        if line.startswith(("turn", "block")):
            return float(line.split()[-1])
    raise BenchError(f"{peer.name}: the program has ended")
