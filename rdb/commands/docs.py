"""Writes docs/commands.md from the registry: `python -m rdb.commands.docs`."""

from __future__ import annotations

from pathlib import Path

from rdb.commands.gdb_table import extension_commands
from rdb.commands.registry import Command
from rdb.commands.table import REGISTRY

PATH = Path(__file__).resolve().parents[2] / "docs" / "commands.md"

_HEAD = """\
# Commands of the console

Made from the registry by `python -m rdb.commands.docs`; do not edit.

`rdb attach JOB` opens all ranks of a job at the end of their recordings. A command goes to the
ranks in focus side by side; ranks that answer the same are shown together (`0-2: ...`). What is not
listed here goes to GDB as it is: `break`, `watch`, `reverse-next`, `reverse-continue`, `finish`,
`info locals` and all the rest. An empty line repeats the last command that went to GDB. Ctrl-C
stops what runs, Ctrl-D leaves.

`rdb attach JOB -x SCRIPT`, or commands through a pipe, need no terminal. Each command is echoed
behind its prompt. A command that fails does not end the script; the exit code is 0 if none
failed, 1 if one did or a rank could not be brought to its end, 130 after Ctrl-C. `#` starts a
comment.
"""


def text() -> str:
    """The whole page."""
    parts = [_HEAD]
    for group, commands in REGISTRY.groups().items():
        parts.append(f"## {group.value}\n")
        parts.extend(_entry(command) for command in commands)
    own = extension_commands()
    if own:
        parts.append("## Added to GDB by rdb\n")
        rows = "\n".join(f"| `{name}` | {summary} |" for name, summary in own.items())
        parts.append(f"| command | |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def _entry(command: Command) -> str:
    lines = [f"### `{command.usage}`", "", command.summary]
    if command.help:
        lines += ["", command.help]
    if command.aliases:
        lines += ["", "Short: " + ", ".join(f"`{name}`" for name in command.aliases)]
    return "\n".join(lines) + "\n"


def main() -> None:
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
