"""Short names for the reverse commands, if GDB has none."""

from __future__ import annotations

import gdb

from ..loading import at_load

_ALIASES = {
    "rs": "reverse-step",
    "rn": "reverse-next",
    "rc": "reverse-continue",
    "rsi": "reverse-stepi",
    "rni": "reverse-nexti",
    "rf": "reverse-finish",
}


@at_load
def define() -> None:
    for short, long in _ALIASES.items():
        try:
            gdb.execute(f"help {short}", to_string=True)
        except gdb.error:
            gdb.execute(f"alias -a {short} = {long}", to_string=True)
