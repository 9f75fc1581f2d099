"""Recordings hold what the program held: they are their owner's alone.

Whoever opens a recording runs what is in it, so one that another user could have made or changed is
refused.  Imported at every rank's start: nothing but `os` and `stat`.
"""

from __future__ import annotations

import os
import stat

from rdb.errors import NotYours

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
HCA_KEY = "hca.key"
"""In a job's directory: the secret that its software HCAs share."""


def make_directory(path: str) -> None:
    """mkdir, with the mode that we mean whatever the umask says."""
    os.mkdir(path, DIRECTORY_MODE)
    os.chmod(path, DIRECTORY_MODE)


def make_directories(path: str) -> None:
    """The same for a path of which some is there already."""
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
    """For open(): a file that is made gets our mode whatever the umask says."""
    descriptor = os.open(path, flags, FILE_MODE)
    if flags & os.O_CREAT:
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def check_store(path: str) -> None:
    """Refuses a store where others may put or replace recordings; one that is not there is fine.

    In a directory like /tmp (sticky) they can only add their own, which `check_job` refuses.
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
    """Refuses a job's directory that is not the user's, or that others may write to."""
    try:
        found = os.stat(path)
    except OSError:
        return  # whoever reads it says so
    if not _trusted(found.st_uid):
        raise _of_another(path, found.st_uid)
    if found.st_mode & 0o022:
        raise NotYours(
            f"{path}: others may have changed it (mode {stat.S_IMODE(found.st_mode):o})",
            f"if you trust it: chmod go-w {path}",
        )


def _trusted(owner: int) -> bool:
    """Ours, or under sudo that of who called it."""
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
