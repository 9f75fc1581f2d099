"""Which HCA a program's verbs use, and the key that the software HCAs of one job share.

Imported at every rank's start: nothing but `os`.
"""

from __future__ import annotations

import os

from rdb.errors import Unsupported, Usage
from rdb.private import HCA_KEY, make_directories, opener

HCA_CHOICES = ("soft", "real", "auto")

SOFT_DEVICE = "rdb0"
_KEY_BYTES = 32


def hca_options(asked: str | None, folder: str, either: bool = False) -> list[str]:
    """Options of rdb-exec for --hca (ASKED), or else $RDB_HCA.

    FOLDER: the job's directory, or the store for programs that are a job each. EITHER: a restart,
    for which `auto` means the software HCA if there are no devices. Usage: unknown choice.
    Unsupported: the key cannot be made.
    """
    hca = asked or os.environ.get("RDB_HCA") or "auto"
    if hca not in HCA_CHOICES:
        named = "--hca" if asked else "RDB_HCA"
        raise Usage(f"{named} {hca}: no such choice", f"write {', '.join(HCA_CHOICES)}")
    options = ["--hca", hca]
    if hca == "soft" or (either and hca == "auto"):
        options += ["--hca-key", _key(folder)]
    return options


def _key(folder: str) -> str:
    """The path of the key.  The first process makes it; it appears complete (by link)."""
    path = os.path.join(folder, HCA_KEY)
    if os.path.exists(path):
        return path
    own = f"{path}.{os.uname().nodename}.{os.getpid()}"
    try:
        make_directories(folder)
        with open(own, "wb", opener=opener) as file:
            file.write(os.urandom(_KEY_BYTES))
        try:
            os.link(own, path)
        except FileExistsError:  # another rank was faster
            pass
        finally:
            os.unlink(own)
    except OSError as error:
        raise Unsupported(
            f"{path}: {os.strerror(error.errno or 0)}",
            "set RDB_HOME to a directory you may write to",
        ) from error
    return path
