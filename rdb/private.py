"""Access rights of recordings.  A recording holds the program's memory: only its owner may read it.

Opening a recording runs code that is in it.  So a recording that another user could have made or
changed is refused.  Every rank imports this module at its start: it imports only `os` and `stat`.
"""

from __future__ import annotations

import os
import stat

from rdb.errors import NotYours

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
HCA_KEY = "hca.key"
"""File in a job's directory with the secret that the software HCAs of the job share."""


def make_directory(path: str) -> None:
    """mkdir(2) with mode 0700, whatever the umask is.  Raises OSError."""
    os.mkdir(path, DIRECTORY_MODE)
    os.chmod(path, DIRECTORY_MODE)


def make_directories(path: str) -> None:
    """Makes the missing folders of a path, each with mode 0700.  Raises OSError."""
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        if parent and parent != path:
            make_directories(parent)
        try:
            make_directory(path)
        except FileExistsError:  # another rank was faster
            if not os.path.isdir(path):
                raise


def opener(path: str, flags: int) -> int:
    """An `opener` for open(): a new file gets mode 0600, whatever the umask is."""
    descriptor = os.open(path, flags, FILE_MODE)
    if flags & os.O_CREAT:
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def check_store(path: str) -> None:
    """Raises NotYours if other users may add or replace recordings in a store.

    A store that does not exist is fine.  In a sticky directory (/tmp) other users can only add
    directories of their own, which `check_job` refuses.
    """
    try:
        found = os.stat(path)
    except OSError:
        return
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        raise NotYours(
            f"{path}: others may write to it (mode {stat.S_IMODE(found.st_mode):o})",
            f"chmod go-w {path}",
        )
    if not (found.st_mode & stat.S_ISVTX or _trusted(found.st_uid)):
        raise _of_another(path, found.st_uid)


def check_job(path: str) -> None:
    """Raises NotYours if a job's directory belongs to another user or others may write to it."""
    try:
        found = os.stat(path)
    except OSError:
        return  # its reader reports the error
    if not _trusted(found.st_uid):
        raise _of_another(path, found.st_uid)
    if found.st_mode & 0o022:
        raise NotYours(
            f"{path}: others may have changed it (mode {stat.S_IMODE(found.st_mode):o})",
            f"if you trust it: chmod go-w {path}",
        )


def _trusted(owner: int) -> bool:
    """Is the owner this user or, under sudo, the user who called sudo?"""
    me = os.geteuid()
    if owner == me:
        return True
    return me == 0 and os.environ.get("SUDO_UID") == str(owner)


def _of_another(path: str, owner: int) -> NotYours:
    import pwd

    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    hint = f"sudo -u {name} rdb ..." if os.geteuid() == 0 else "ask for a copy of your own"
    return NotYours(f"{path} belongs to {name}", hint)
