"""Each folder of rdb/ imports only folders below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# From the bottom up.  Several names on a line do not use each other.
RDB = """
errors crc32c
home private paths checked
wire
recording
replay picture
timeline
coordinate
launch
live doctor
agents
server session
commands
console
cli
__main__
"""

RECORDING = """
ranges
log
mpi
verbs
checkpoints
rank
processes stored query symbols
pack_format
unpacking
store
order cautions messages
packing
"""

LIVE = """
sockets until_damage rank branch
world verbs refusals from_checkpoint
tree
files
cut expand
plan
"""

PACKAGES = {"rdb": RDB, "rdb.recording": RECORDING, "rdb.live": LIVE}


def ranks(order: str) -> dict[str, int]:
    lines = order.strip().splitlines()
    return {name: at for at, line in enumerate(lines) for name in line.split()}


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The line and the dotted name of each import that happens at run time."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def upward(package: str, order: str, sources: dict[str, str]) -> list[str]:
    """Imports of PACKAGE's parts that are not below the part that imports them."""
    rank = ranks(order)
    inside = package + "."
    found = []
    for module, source in sources.items():
        if not module.startswith(inside):
            continue
        own = module[len(inside) :].split(".")[0]
        for line, name in imported(source):
            part = name[len(inside) :].split(".")[0] if name.startswith(inside) else own
            if part in rank and part != own and rank[part] >= rank[own]:
                found.append(f"{module}:{line} imports {name}")
    return found


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    names = {}
    for path in (ROOT / "rdb").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        names[module.removesuffix(".__init__")] = path.read_text()
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_down(package: str, sources: dict[str, str]) -> None:
    assert upward(package, PACKAGES[package], sources) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_part_has_its_layer(package: str, sources: dict[str, str]) -> None:
    inside = package + "."
    parts = {name[len(inside) :].split(".")[0] for name in sources if name.startswith(inside)}
    assert parts == set(ranks(PACKAGES[package]))


def test_an_upward_import_is_found() -> None:
    sources = {
        "rdb.wire.channel": "def f():\n    from rdb.cli import main\n",
        "rdb.cli.run": "import rdb.wire.channel\n",
        "rdb.replay.start": "if TYPE_CHECKING:\n    from rdb.cli import main\n",
    }
    assert upward("rdb", RDB, sources) == ["rdb.wire.channel:2 imports rdb.cli.main"]
