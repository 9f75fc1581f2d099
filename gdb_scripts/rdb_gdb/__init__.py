"""rdb inside GDB: commands (one in each module), their history, requests to the server."""

from __future__ import annotations

from . import loading

_loaded = False


def load() -> None:
    """Defines the commands; a second time does nothing."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    loading.load()
    from .state import history

    history.watch()  # last: at a GDB event it notes what all other handlers have changed
