"""The registry: one table, its help, its documentation, a way to show everything it returns."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import deadlines
import pytest

import rdb
from rdb.cli.parser import build_parser
from rdb.commands import docs, gdb_table, quoting
from rdb.commands.gdb_table import extension_commands
from rdb.commands.registry import Group, Registry
from rdb.commands.table import REGISTRY
from rdb.commands.values import Leave, Script, ShellLine
from rdb.console.render import render
from rdb.errors import RdbError, Usage
from rdb.paths import gdb_scripts_dir


class NoRanks:
    """A session with nothing in focus."""

    focus = ()


def test_docs_are_what_the_registry_says() -> None:
    assert docs.PATH.read_text(encoding="utf-8") == docs.text(), (
        "docs/commands.md is stale: python -m rdb.commands.docs"
    )


def test_docs_name_every_command() -> None:
    text = docs.text()
    for command in REGISTRY.commands:
        assert f"`{command.usage}`" in text
        assert command.summary in text


@pytest.mark.parametrize("name", ["find-event", "bisect"])
def test_the_shell_takes_what_the_console_takes(name: str, capsys: Any) -> None:
    usage = next(one.usage for one in REGISTRY.commands if one.name == name)
    with pytest.raises(SystemExit):
        build_parser().parse_args([name, "--help"])
    options = re.findall(r"--[\w-]+", usage)
    assert options and set(options) <= set(re.findall(r"--[\w-]+", capsys.readouterr().out))


def test_a_name_cannot_be_taken_twice() -> None:
    registry = Registry()
    command = REGISTRY.commands[0]
    registry.add(command)
    with pytest.raises(ValueError, match="already"):
        registry.add(command)


@pytest.mark.parametrize("command", REGISTRY.commands, ids=lambda command: command.name)
def test_every_answer_can_be_shown(command: Any) -> None:
    answer = get_type_hints(command.handler)["return"]
    for kind in get_args(answer) if isinstance(answer, UnionType) else (answer,):
        shown = get_origin(kind) or kind
        if shown not in (Leave, Script, ShellLine):  # what those lead to shows itself
            assert render.dispatch(shown) is not render.dispatch(object), f"no renderer: {kind}"


@pytest.mark.parametrize("command", REGISTRY.commands, ids=lambda command: command.name)
def test_handlers_take_a_session_first(command: Any) -> None:
    assert next(iter(inspect.signature(command.handler).parameters)) == "session"
    assert inspect.iscoroutinefunction(command.handler)
    assert command.usage.startswith(command.name)


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("undo 3", "undo", "3"),
        ("  undo  3 ", "undo", "3 "),
        ("info job", "info job", ""),
        ("p x + 1", "print", "x + 1"),
        ("print/x flags", "print", "/x flags"),
        ("p/c 65", "print", "/c 65"),
        ("quit", "quit", ""),
    ],
)
def test_find(line: str, name: str, arguments: str) -> None:
    found = REGISTRY.find(line)
    assert found is not None
    assert (found[0].name, found[1]) == (name, arguments)


@pytest.mark.parametrize(
    "line", ["info breakpoints", "next", "undone", "x/4i $pc", "reverse-step", ""]
)
def test_the_rest_is_gdbs(line: str) -> None:
    assert REGISTRY.find(line) is None


@pytest.mark.parametrize("line", ["redo x", "redo 0", "redo 1 2", "quit now", "goto"])
def test_bad_arguments_say_the_usage(line: str) -> None:
    found = REGISTRY.find(line)
    assert found is not None
    command, arguments = found
    with pytest.raises(Usage) as caught:
        command._bind(arguments)
    assert caught.value.hint == f"usage: {command.usage}"


@pytest.mark.parametrize(
    "line", ["undo x", "undo 0", "undo 1 2", "undo --to", "history now", "history --save"]
)
def test_bad_options_say_the_usage(line: str) -> None:
    class OneRank:
        focus = (0,)

    found = REGISTRY.find(line)
    assert found is not None
    command, arguments = found
    with pytest.raises(Usage) as caught:
        asyncio.run(command.call(OneRank(), arguments))  # type: ignore[arg-type]
    assert caught.value.hint == f"usage: {command.usage}"


def test_needs_are_checked_before_the_handler_runs() -> None:
    command = REGISTRY.get("undo")
    assert command is not None
    with pytest.raises(RdbError, match="no rank is in focus"):
        asyncio.run(command.call(NoRanks(), ""))  # type: ignore[arg-type]


def test_groups_hold_every_command_once() -> None:
    grouped = [command.name for commands in REGISTRY.groups().values() for command in commands]
    assert sorted(grouped) == sorted(command.name for command in REGISTRY.commands)
    assert set(REGISTRY.groups()) == set(Group)


COMMANDS = gdb_scripts_dir() / "rdb_gdb" / "commands"
# Of GDB with the extension, once a recording is opened.
_ASKED = """python
import json
from rdb_gdb.commands import command
command.take_over()
def known(name):
    try:
        return bool(gdb.execute(f"help {name}", to_string=True))
    except gdb.error:
        return False
own = {name: made.__doc__.partition("\\n")[0] for name, made in command.COMMANDS.items()}
print(json.dumps([own, [name for name in [*own, *json.loads(%r)] if not known(name)]]))
end
"""


def in_gdb(names: set[str], folder: Path) -> tuple[dict[str, str], list[str]]:
    """What each command of the extension does; which of these and of NAMES GDB does not know."""
    own, unknown = asked_of_gdb(_ASKED % json.dumps(sorted(names)), folder)
    return own, unknown


def asked_of_gdb(text: str, folder: Path) -> Any:
    script = folder / "script"
    script.write_text(text)
    command = ["gdb", "-nx", "-q", "-batch", "-x", gdb_scripts_dir() / "rdb.py", "-x", script]
    done = deadlines.native(command)
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


# Of each command of GDB's own that takes one expression: what may be typed for it (GDB takes a part
# of a name that no other command begins with), and whether the extension and TAKES_ONE know that.
_SHORT = """python
import json, re
from rdb_gdb.commands import command, meant
command.take_over()
def help_of(name):
    try:
        return gdb.execute(f"help {name}", to_string=True)
    except gdb.error:
        return None
strange = []
for full in ("inspect", "call", "display", "watch", "rwatch", "awatch", "whatis", "ptype", "x"):
    for short in (full[:end] for end in range(1, len(full) + 1)):
        if help_of(short) == help_of(full):
            known = bool(meant._TAKES_ONE.fullmatch(short + " a")), bool(re.match(%r, short + " a"))
            strange += [short] if known != (True, True) else []
print(json.dumps(strange))
end
"""


def given_to_gdb() -> set[str]:
    """The first words of what rdb has GDB do: all texts that begin as a command of the extension
    does, and what is plainly run."""
    asked = re.compile(r"""\b(?:run|execute|ask)\(\s*f?"([a-z][\w-]*)|f?"(rdb-[a-z-]+)(?=[ "])""")
    folders = [Path(rdb.__file__).parent / name for name in ("commands", "console", "session")]
    texts = [path.read_text() for folder in folders for path in folder.glob("*.py")]
    return {one or other for text in texts for one, other in asked.findall(text)}


def test_extension_commands_are_read_from_its_sources() -> None:
    own = extension_commands()
    assert own["rn"] == "short for reverse-next"
    assert "rdb-state" not in own
    assert "undo" not in own  # it is in the registry


def test_each_command_is_declared_where_it_is_looked_for() -> None:
    forgotten = []
    for path in COMMANDS.parent.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and "Command" in map(ast.unparse, node.bases):
                if path.parent != COMMANDS:
                    forgotten.append(f"{path.name}: {node.name} does not lie in commands/")
                if not any("command(" in ast.unparse(one) for one in node.decorator_list):
                    forgotten.append(f"{path.name}: {node.name} lacks @command(NAME)")
    assert forgotten == []


def test_rdb_and_the_extension_know_the_same_commands(tmp_path: Path) -> None:
    read, given = gdb_table.read(COMMANDS), given_to_gdb()
    shorts = {name: text for name, text in read.items() if text.startswith("short for ")}
    own, unknown = in_gdb(given | set(shorts), tmp_path)
    assert {**own, **shorts} == read, "GDB has other commands than the sources declare"
    assert unknown == [], "GDB does not know these"
    unused = {name for name in own if name.startswith("rdb-")} - given
    assert unused == {"rdb-reverse-finish"}, "rdb never has GDB do these"  # that one: by a hook


def test_a_short_name_means_what_the_whole_does(tmp_path: Path) -> None:
    assert asked_of_gdb(_SHORT % quoting._TAKES_ONE.pattern, tmp_path) == []
