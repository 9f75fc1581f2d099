"""The registry: one table, its help, its documentation, a way to show everything it returns."""

from __future__ import annotations

import asyncio
import inspect
import re
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from rdb.cli.parser import build_parser
from rdb.commands import docs
from rdb.commands.gdb_table import extension_commands
from rdb.commands.registry import Group, Registry
from rdb.commands.table import REGISTRY
from rdb.commands.values import Leave, Script, ShellLine
from rdb.console.render import render
from rdb.errors import RdbError, Usage


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
    with pytest.raises(ValueError, match="there already"):
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


def test_extension_commands_are_read_from_its_sources() -> None:
    own = extension_commands()
    assert own["rn"] == "short for reverse-next"
    assert "rdb-state" not in own
    assert "undo" not in own  # it is in the registry
