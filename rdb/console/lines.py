"""Turns lines into commands: drops comments, joins a block (`commands` ... `end`) to one
command.
"""

from __future__ import annotations

_ALWAYS = ("if", "while", "define", "document")


def opens_block(line: str) -> bool:
    """Whether GDB reads more lines after this one, up to `end`."""
    words = line.split()
    if not words:
        return False
    if words[0] in _ALWAYS:
        return True
    if len(words[0]) >= 4 and "commands".startswith(words[0]):
        return True  # with or without numbers
    return words[0] in ("python", "py", "python-interactive", "pi") and len(words) == 1


class LineReader:
    """Takes lines and returns whole commands."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._python = False

    @property
    def depth(self) -> int:
        """Number of open blocks."""
        return self._depth

    def feed(self, line: str) -> str | None:
        """Returns a command, "" for an empty line, None inside a block or for a comment."""
        stripped = line.strip()
        if self._depth == 0:
            if stripped.startswith("#"):
                return None
            if not opens_block(stripped):
                return stripped
        self._lines.append(line.rstrip("\n"))
        if stripped == "end":
            self._depth -= 1
            self._python = False
        elif not self._python and opens_block(stripped):
            self._depth += 1
            self._python = stripped.startswith("py")  # Python's own `if` needs no `end`
        if self._depth > 0:
            return None
        block = "\n".join(self._lines)
        self._lines.clear()
        return block

    def drop(self) -> str:
        """Forgets an unfinished block and returns its first line."""
        first = self._lines[0] if self._lines else ""
        self._lines.clear()
        self._depth = 0
        self._python = False
        return first
