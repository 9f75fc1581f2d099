"""The environment of rdb-exec.  Every rank imports it, so it imports little."""

from __future__ import annotations

from collections.abc import Mapping


def for_rdb_exec(env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which ld.so(8)'s variables are hidden: they are for the program.

    See interposer/answer/linker_variables.h.
    """
    kept = ("LD_LIBRARY_PATH", "LD_BIND_NOW")
    hidden = {name for name in env if name.startswith("LD_") and name not in kept}
    return {f"rdb:{name}" if name in hidden else name: value for name, value in env.items()}
