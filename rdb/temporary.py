"""Temporary files and directories beside recordings, also those that killed processes leave."""

from __future__ import annotations

import glob
import os
import shutil
from contextlib import suppress
from pathlib import Path

from rdb.process_stat import lives, process_stat


def temporary(folder: str | os.PathLike[str], what: str) -> Path:
    """A path in FOLDER for this process, which makes and removes what is there.

    Removes what processes of this host that have ended have left.
    """
    prefix = f".{what}.{os.uname().nodename}."
    for path in Path(folder).glob(f"{glob.escape(prefix)}*-*"):
        pid, _, start = path.name.removeprefix(prefix).partition("-")
        if not (pid + start).isdigit() or lives(int(pid), int(start)):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # another process may remove it, too
        else:
            with suppress(PermissionError):  # another user's, in /tmp
                path.unlink(missing_ok=True)
    own = process_stat(os.getpid())
    assert own is not None
    return Path(folder) / f"{prefix}{own.pid}-{own.start_ticks}"
