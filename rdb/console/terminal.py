"""Where the console prints."""

from __future__ import annotations

from rich.console import Console

_WIDE = 200  # width without a terminal, so that tables are not cut


def make_console() -> Console:
    """The console for answers.  Long lines stay whole: a terminal wraps them, so they can be
    copied.
    """
    out = Console(highlight=False, soft_wrap=True, emoji=False)
    if out.is_terminal:
        return out
    return Console(highlight=False, soft_wrap=True, emoji=False, width=_WIDE)
