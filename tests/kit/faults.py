"""Helpers of the tests that break things: rdb-exec alone, small disks, altered files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import deadlines

from rdb.paths import rdb_exec_path
from rdb.recording import RankRecording

DEADLINE_S = 120
#: `make test-faults`: all of it, which takes minutes.
EVERYTHING = os.environ.get("RDB_TEST_FAULTS") == "all"


@dataclass(frozen=True)
class Rank:
    """A directory that rdb-exec records into, and the store beside it."""

    path: Path
    files: Path

    @classmethod
    def make(cls, folder: Path) -> Rank:
        rank = cls(folder / "rank-0", folder / "files")
        rank.path.mkdir(parents=True)
        rank.files.mkdir()
        return rank

    def line(self, *program: str | Path, options: tuple[str, ...] = ()) -> list[str]:
        dirs = ["--dir", str(self.path), "--files", str(self.files)]
        return [str(rdb_exec_path()), *dirs, *options, "--", *map(str, program)]

    def record(self, *program: str | Path, options: tuple[str, ...] = ()) -> int:
        line = self.line(*program, options=options)
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        return deadlines.run(line, DEADLINE_S, **nothing).returncode

    def recording(self) -> RankRecording:
        return RankRecording(self.path, self.files)

    def verify(self, *options: str) -> tuple[int, dict[str, object], str]:
        """Exit code, the JSON answer (empty if there is none), what it said on stderr."""
        line = [str(rdb_exec_path()), "--replay", str(self.path), "--files", str(self.files)]
        done = deadlines.run([*line, "--verify", *options], DEADLINE_S, stdin=subprocess.DEVNULL)
        lines = done.stdout.splitlines()
        return done.returncode, json.loads(lines[-1]) if lines else {}, done.stderr

    def copy(self, folder: Path) -> Rank:
        """The same recording elsewhere; the store is shared."""
        shutil.copytree(self.path, folder / "rank-0")
        return Rank(folder / "rank-0", self.files)


def small_disk(size: str, folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script where `folder` is a file system of that size, for it alone."""
    folder.mkdir(exist_ok=True)
    mount = f"mount -t tmpfs -o size={size} none {folder} && {{ {script}\n}}"
    assert _NAMESPACE is not None
    command = ["unshare", *_NAMESPACE, "bash", "-c", mount]
    return deadlines.run(command, DEADLINE_S * 2, stdin=subprocess.DEVNULL)


def _namespace() -> tuple[str, ...] | None:
    """How a mount of one's own is to be had: as root, or in a user namespace."""
    for options in (("-m",), ("-rm",)):
        try:
            done = subprocess.run(
                ["unshare", *options, "mount", "-t", "tmpfs", "-o", "size=4k", "none", "/mnt"],
                capture_output=True,
                check=False,
            )
        except OSError:
            return None
        if done.returncode == 0:
            return options
    return None


_NAMESPACE = _namespace() or ()
NO_MOUNTS = "" if _NAMESPACE else "no file system can be mounted here (unshare -m, unshare -rm)"


def tiny(build: Callable[..., Path]) -> Path:
    """The program with the smallest recording; its exit code is 3."""
    return build("fault_tiny.c", "-O1", "-static", "-nostdlib", "-fno-stack-protector")
