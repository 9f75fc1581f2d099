"""The commands of the GDB extension that the registry does not have.

The extension runs in GDB's own Python, so its sources are parsed, not imported. A command is a
class below `@command(NAME)`, and its docstring is its help; the table `_ALIASES` has short names.
"""

from __future__ import annotations

import ast
from pathlib import Path

from rdb.commands.registry import REGISTRY
from rdb.paths import gdb_scripts_dir

_NOT_FOR_THE_CONSOLE = "rdb-"  # commands that the console or GDB itself uses


def extension_commands() -> dict[str, str]:
    """Name -> summary of each command that users may type and that the registry lacks."""
    return {
        name: summary
        for name, summary in sorted(read(gdb_scripts_dir() / "rdb_gdb" / "commands").items())
        if not name.startswith(_NOT_FOR_THE_CONSOLE) and REGISTRY.get(name) is None
    }


def read(folder: Path) -> dict[str, str]:
    """Name -> summary of all commands and short names in the sources in FOLDER."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                summary = (ast.get_docstring(node) or "").partition("\n")[0]
                found.update(dict.fromkeys(_names(node), summary))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_ALIASES":
                table: dict[str, str] = ast.literal_eval(node.value)
                found.update({short: f"short for {long}" for short, long in table.items()})
    return found


def _names(node: ast.ClassDef) -> list[str]:
    return [
        ast.literal_eval(decorator.args[0])
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "command"
    ]
