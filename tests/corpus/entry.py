"""One program of the corpus: how to run it and what to expect."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """A command, run in an empty folder; what it prints is compared with a run without rdb."""

    name: str
    packages: str
    command: tuple[str, ...]
    code: int = 0
    # What must stand in the output, so that two equal failures are not a success.
    prints: str = ""
    # Shell commands, run without rdb: before it, and after it (what they print is compared too).
    before: str = ""
    after: str = ""
    files: dict[str, str] = field(default_factory=dict)
    events: int = 20
    processes: int = 1
    hash_every: int = 50
    # Whether two runs print the same.
    repeatable: bool = True
    sample: bool = False
    # Programs that `before` needs.
    tools: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """What is not installed here, if anything."""
        if self.name.startswith("python3-test-") and not _python_has("test.test_json"):
            return "python3's own tests"
        if self.name.startswith("numpy") and not _python_has("numpy"):
            return "python3-numpy"
        # What starts with "./" is made by `before`.
        wanted = [p for p in (self.command[0], *self.tools) if not p.startswith("./")]
        return next((p for p in wanted if shutil.which(p) is None), None)


def _python_has(module: str) -> bool:
    test = ["/usr/bin/python3", "-c", f"import {module}"]
    return subprocess.run(test, capture_output=True, timeout=60, check=False).returncode == 0
