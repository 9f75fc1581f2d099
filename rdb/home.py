"""Where rdb keeps its jobs.  Every rank imports it, so it imports little."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rdb.errors import Unsupported


def home(env: Mapping[str, str] | None = None) -> str:
    """$RDB_HOME, else `rdb` in the XDG state directory, as ENV (default: this process's) has them.

    Unsupported: none of RDB_HOME, XDG_STATE_HOME and HOME is set, and the user has no entry in
    passwd(5).
    """
    env = os.environ if env is None else env
    given = env.get("RDB_HOME")
    if given:
        return os.path.abspath(given)
    state = env.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    if not os.path.isabs(state):
        raise Unsupported(
            "there is no place for recordings: this user has no home directory",
            "set RDB_HOME to a directory of your own",
        )
    return os.path.join(state, "rdb")
