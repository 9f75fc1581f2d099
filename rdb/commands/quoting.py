"""Names and paths as one types them in a shell: quoted, with escaped blanks, or as they are."""

from __future__ import annotations

import shlex


def word(text: str) -> str:
    """TEXT without the quotes and backslashes of a shell, if these make it one word."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text  # a quote of its own: it's.rdb
    return words[0] if len(words) == 1 else text
