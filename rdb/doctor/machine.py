"""The machine as the probes see it; tests substitute another one."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from rdb.errors import RdbError
from rdb.paths import rdb_exec_path

_TIMEOUT_S = 60


class Machine:
    """Files below `root`, programs in the environment's PATH, rdb-exec's own probes."""

    def __init__(self, root: Path = Path("/"), env: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.env = os.environ if env is None else env

    def read(self, path: str) -> str | None:
        """The content of a small text file; None: it cannot be read."""
        try:
            return (self.root / path.lstrip("/")).read_text(errors="replace").strip()
        except OSError:
            return None

    def entries(self, path: str) -> list[str]:
        """Sorted names in a directory; empty if it cannot be read."""
        try:
            return sorted(entry.name for entry in (self.root / path.lstrip("/")).iterdir())
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()

    def which(self, program: str) -> str | None:
        return shutil.which(program, path=self.env.get("PATH", os.defpath))

    def output(self, *command: str) -> tuple[int, str]:
        """Exit code and joined output of a program; 127: cannot run, 124: no end in _TIMEOUT_S."""
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
            )
        except OSError as error:
            return 127, str(error)
        except subprocess.TimeoutExpired:
            return 124, f"no answer in {_TIMEOUT_S} s"
        return done.returncode, done.stdout.strip()

    def first_line(self, *command: str) -> str | None:
        """The first line of a program's output; None if it failed."""
        code, text = self.output(*command)
        return text.splitlines()[0] if code == 0 and text else None

    def limit(self, which: int) -> int | None:
        """A soft resource limit (RLIMIT_NOFILE ...); None is unlimited."""
        soft = resource.getrlimit(which)[0]
        return None if soft == resource.RLIM_INFINITY else soft

    @cached_property
    def probes(self) -> tuple[dict[str, Any] | None, str]:
        """The answer of `rdb-exec --probe`, and its path; or None, and the reason."""
        try:
            executable = str(rdb_exec_path())
        except RdbError as error:
            return None, error.message
        code, text = self.output(executable, "--probe")
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            return None, f"--probe: exit {code}: {text[:100]}"
        return answer, executable

    @property
    def too_old(self) -> str | None:
        """What the CPU lacks of what rdb-exec's own code needs, as rdb-exec says; None: nothing."""
        found = re.search(
            r"this processor, or the virtual machine, (has no [^:]*):", self.probes[1]
        )
        return found and found[1]

    def ability(self, name: str) -> bool:
        """Whether rdb-exec reports the ability NAME."""
        answer, _ = self.probes
        return answer is not None and answer.get(name) is True

    @cached_property
    def libraries(self) -> str:
        """The dynamic linker's cache, as text."""
        ldconfig = self.which("ldconfig") or "/sbin/ldconfig"
        code, text = self.output(ldconfig, "-p")
        return text if code == 0 else ""

    def has_library(self, soname: str) -> bool:
        if f"\t{soname} " in self.libraries:
            return True
        folders = self.env.get("LD_LIBRARY_PATH", "").split(":")
        return any(folder and (Path(folder) / soname).exists() for folder in folders)
