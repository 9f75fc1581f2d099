"""Temporary files and directories beside recordings, also those that killed processes leave."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def temporary(folder: str | os.PathLike[str], what: str) -> Path:
    """A path in FOLDER for this process, which makes and removes what is there.

    Removes what processes of this host that have ended have left.
    """
    prefix = f".{what}.{os.uname().nodename}."
    for path in Path(folder).glob(f"{prefix}*"):
        if not os.path.exists(f"/proc/{path.name.removeprefix(prefix)}"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)  # another process may remove it, too
            else:
                path.unlink(missing_ok=True)
    return Path(folder) / f"{prefix}{os.getpid()}"
