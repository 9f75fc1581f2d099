"""The table of what system calls read."""

from __future__ import annotations

import re
from pathlib import Path

INTERPOSER = Path(__file__).parents[2] / "interposer"


def rows() -> dict[str, list[tuple[str, int]]]:
    """Calls of the table of inputs, each with what it has for arguments."""
    text = (INTERPOSER / "answer" / "syscall_inputs.def").read_text()
    found = {}
    for name, specs in re.findall(r"^IN\((\w+), (.*)\)$", text, re.MULTILINE):
        parts = re.findall(r"(\w+)\(([^)]*)\)", specs)
        found[name] = [
            (kind, int(args.split(",")[0]) if kind != "FN" else -1) for kind, args in parts
        ]
    return found
