"""Commands that act outside of the recording say so before they do."""

from __future__ import annotations

import gdb

from . import link

_OUTSIDE = ("shell", "make", "pipe", "generate-core-file")
_ENDING = ("detach", "disconnect", "kill")


def before(name: str) -> None:
    if not link.opened():
        return
    if name in _ENDING:
        gdb.write(f"rdb: `{name}` ends this session; it cannot be undone.\n")
    else:
        gdb.write(f"rdb: what `{name}` does is outside of the recording; it cannot be undone.\n")
    gdb.flush()


def define() -> None:
    for name in (*_OUTSIDE, *_ENDING):
        gdb.execute(
            f"define hook-{name}\n"
            f"python import rdb_gdb.warnings; rdb_gdb.warnings.before({name!r})\nend",
            to_string=True,
        )
