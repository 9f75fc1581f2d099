"""Each folder of rdb/ and of the GDB extension imports only folders below it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From the bottom up.  Several names on a line do not use each other.
RDB = """
errors crc32c hooks
trace
environment home memory private paths process_stat checked executor undoing
temporary
wire
recording
dask replay picture
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
checkpoints state
rank
processes stored symbols
query
pack_format
unpacking
store
order cautions messages
packing
"""

LIVE = """
descriptors until_damage rank branch
sockets
world verbs refusals from_checkpoint redistributed
tree
files
cut expand
plan
"""

GDB_SCRIPTS = """
loading
link
values
state
search
commands
"""

PACKAGES = {"rdb": RDB, "rdb.recording": RECORDING, "rdb.live": LIVE, "rdb_gdb": GDB_SCRIPTS}


def ranks(order: str) -> dict[str, int]:
    lines = order.strip().splitlines()
    return {name: at for at, line in enumerate(lines) for name in line.split()}


def imported(source: str, package: str = "") -> Iterator[tuple[int, str]]:
    """The line and the dotted name of each import that happens at run time in PACKAGE."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: 1 - node.level or None] if node.level else []
            within = [*parts, *filter(None, [node.module])]
            yield from ((node.lineno, ".".join([*within, alias.name])) for alias in node.names)


Sources = dict[str, tuple[str, str]]  # module -> its package, its text


def upward(package: str, order: str, sources: Sources) -> list[str]:
    """Imports of PACKAGE's parts that are not below the part that imports them."""
    rank = ranks(order)
    inside = package + "."
    found = []
    for module, (within, source) in sources.items():
        if not module.startswith(inside):
            continue
        own = module[len(inside) :].split(".")[0]
        for line, name in imported(source, within):
            part = name[len(inside) :].split(".")[0] if name.startswith(inside) else own
            if part in rank and part != own and rank[part] >= rank[own]:
                found.append(f"{module}:{line} imports {name}")
    return found


def around(sources: Sources) -> list[str]:
    """Modules that import each other in a circle."""
    uses = {}
    for module, (within, source) in sources.items():
        names = {name for _, name in imported(source, within)}
        names |= {name.rpartition(".")[0] for name in names - set(sources)}
        uses[module] = names & set(sources) - {module}
    while (
        True
    ):  # a module that uses none of the rest, or that none of the rest uses, is in no circle
        used = set[str]().union(*uses.values())
        free = {module for module, below in uses.items() if not below or module not in used}
        if not free:
            return sorted(uses)
        uses = {module: below - free for module, below in uses.items() if module not in free}


@pytest.fixture(scope="module")
def sources() -> Sources:
    found = {}
    for root, top in ((ROOT, "rdb"), (ROOT / "gdb_scripts", "rdb_gdb")):
        for path in (root / top).rglob("*.py"):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            found[module.removesuffix(".__init__")] = (module.rpartition(".")[0], path.read_text())
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_down(package: str, sources: Sources) -> None:
    assert upward(package, PACKAGES[package], sources) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_part_has_its_layer(package: str, sources: Sources) -> None:
    inside = package + "."
    parts = {name[len(inside) :].split(".")[0] for name in sources if name.startswith(inside)}
    assert parts == set(ranks(PACKAGES[package]))


def test_every_part_is_installed() -> None:
    named = (ROOT / "meson.build").read_text()
    paths = [path for path in (ROOT / "rdb").iterdir() if not path.name.startswith(("_lib", "__p"))]
    missing = [
        path.name
        for path in paths
        if (f"'{path.name}'" if path.is_dir() else f"'rdb/{path.name}'") not in named
    ]
    assert missing == []


def test_no_module_imports_itself_by_others(sources: Sources) -> None:
    assert around(sources) == []


def test_the_gdb_extension_needs_the_standard_library_only(sources: Sources) -> None:
    allowed = {*sys.stdlib_module_names, "gdb", "rdb_gdb"}
    others = [
        f"{module}:{line} imports {name}"
        for module, (within, source) in sources.items()
        if module.split(".")[0] == "rdb_gdb"
        for line, name in imported(source, within)
        if name.split(".")[0] not in allowed
    ]
    assert others == []


def test_the_gdb_extension_loads_its_layers_from_the_bottom_up() -> None:
    text = (ROOT / "gdb_scripts/rdb_gdb/loading.py").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("LAYERS = "))
    assert ["loading", *ast.literal_eval(line.partition(" = ")[2])] == GDB_SCRIPTS.split()


def test_an_upward_import_is_found() -> None:
    sources = {
        "rdb.wire.channel": ("rdb.wire", "def f():\n    from rdb.cli import main\n"),
        "rdb.cli.run": ("rdb.cli", "import rdb.wire.channel\n"),
        "rdb.replay.start": ("rdb.replay", "if TYPE_CHECKING:\n    from rdb.cli import main\n"),
        "rdb_gdb.state": ("rdb_gdb.state", "from .. import link\nfrom . import away\n"),
        "rdb_gdb.state.away": ("rdb_gdb.state", "from ..commands.names import f\nimport re\n"),
        "rdb_gdb.link": ("rdb_gdb.link", "from ..state.away import f\n"),
    }
    assert upward("rdb", RDB, sources) == ["rdb.wire.channel:2 imports rdb.cli.main"]
    assert upward("rdb_gdb", GDB_SCRIPTS, sources) == [
        "rdb_gdb.state.away:1 imports rdb_gdb.commands.names.f",
        "rdb_gdb.link:1 imports rdb_gdb.state.away.f",
    ]


def test_a_circle_is_found() -> None:
    sources = {
        "a.one": ("a", "from . import two\n"),
        "a.two": ("a", "from a.one import f\n"),
        "a.three": ("a", "import a.four\n"),
        "a.four": ("a", "import re\n"),
    }
    assert around(sources) == ["a.one", "a.two"]
