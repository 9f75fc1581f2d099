"""Where the console prints."""

from __future__ import annotations

from rich.console import Console

_WIDE = 200  # columns where there is no terminal: tables are not to be cut


def make_console() -> Console:
    """On a terminal long lines are the terminal's to wrap, so that they can be copied whole."""
    out = Console(highlight=False, soft_wrap=True, emoji=False)
    if out.is_terminal:
        return out
    return Console(highlight=False, soft_wrap=True, emoji=False, width=_WIDE)
