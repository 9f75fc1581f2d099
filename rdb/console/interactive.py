"""The console on a terminal."""

from __future__ import annotations

import sys

from prompt_toolkit import PromptSession

from rdb.commands.table import REGISTRY
from rdb.console.completion import ConsoleCompleter
from rdb.console.kept_lines import KeptLines
from rdb.console.lines import LineReader
from rdb.console.prompt import prompt_text
from rdb.console.shell import Shell


async def interact(shell: Shell) -> int:
    """Reads a command and shows its answer, until quit or Ctrl-D."""
    history = KeptLines()
    prompts: PromptSession[str] = PromptSession(
        history=history,
        completer=ConsoleCompleter(shell.session),
        complete_while_typing=False,
    )
    shell.session.prepare()
    reader = LineReader()
    repeat = ""
    while not shell.left:
        trouble = history.trouble()
        if trouble is not None:
            print(f"rdb: {trouble}", file=sys.stderr)
        try:
            line = await prompts.prompt_async(
                "> " if reader.depth else prompt_text(shell.session), handle_sigint=True
            )
        except KeyboardInterrupt:
            reader.drop()
            continue
        except EOFError:
            break
        text = reader.feed(line)
        if text is None:
            continue
        # As in GDB, an empty line repeats the last command that GDB got: step, next, x, list.
        text = text or repeat
        if text:
            await shell.run(text)
            repeat = text if REGISTRY.find(text) is None else ""
    return 0
