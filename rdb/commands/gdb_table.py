"""The commands that the GDB extension brings besides those of the registry.

They are read from its sources and not imported, because it runs in GDB's own Python: a command is a
class with a `name` and a docstring, short names are the table `_ALIASES`.
"""

from __future__ import annotations

import ast

from rdb.commands.registry import REGISTRY
from rdb.paths import gdb_scripts_dir

# The console gives these itself.
_INTERNAL = (
    "rdb-asked",
    "rdb-leave",
    "rdb-return",
    "rdb-open",
    "rdb-state",
    "rdb-look",
    "rdb-object",
    "rdb-fields",
    "rdb-number",
    "rdb-meant",
    "rdb-fork",
    "rdb-template",
    "rdb-start",
    "rdb-hits",
)


def extension_commands() -> dict[str, str]:
    """Name -> what it does, of what is neither in the registry nor for programs only."""
    found: dict[str, str] = {}
    for path in sorted((gdb_scripts_dir() / "rdb_gdb").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found.update(_command(node))
            elif isinstance(node, ast.Assign):
                found.update(_aliases(node))
    return {
        name: summary
        for name, summary in sorted(found.items())
        if name not in _INTERNAL and REGISTRY.get(name) is None
    }


def _command(node: ast.ClassDef) -> dict[str, str]:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and _target(statement) == "name":
            name = ast.literal_eval(statement.value)
            documentation = (ast.get_docstring(node) or "").partition("\n")[0]
            return {str(name): documentation} if name else {}
    return {}


def _aliases(node: ast.Assign) -> dict[str, str]:
    if _target(node) != "_ALIASES":
        return {}
    return {short: f"short for {long}" for short, long in ast.literal_eval(node.value).items()}


def _target(node: ast.Assign) -> str | None:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else None
