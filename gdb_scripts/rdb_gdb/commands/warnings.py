"""Warnings before commands that act outside of the recording."""

from __future__ import annotations

import gdb

from .. import link
from ..loading import at_load

_OUTSIDE = ("shell", "make", "pipe", "generate-core-file")
_ENDING = ("detach", "disconnect", "kill")


def before(name: str) -> None:
    if not link.opened():
        return
    if name in _ENDING:
        gdb.write(f"rdb: `{name}` ends this session; it cannot be undone.\n")
    else:
        gdb.write(
            f"rdb: the effects of `{name}` are outside of the recording; they cannot be undone.\n"
        )
    gdb.flush()


@at_load
def define() -> None:
    for name in (*_OUTSIDE, *_ENDING):
        gdb.execute(
            f"define hook-{name}\n"
            "python import rdb_gdb.commands.warnings; "
            f"rdb_gdb.commands.warnings.before({name!r})\nend",
            to_string=True,
        )
