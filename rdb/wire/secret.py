"""The secret of a job: whoever can read the file in its directory is the job's owner."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from rdb.errors import NotYours, Unsupported
from rdb.private import HCA_KEY, check_job, opener

KEY_BYTES = 32
_FILE = "agents.key"


def job_secret(job: str) -> bytes:
    """Made by whoever asks first; never seen half written."""
    check_job(job)
    path = os.path.join(job, _FILE)
    try:
        if not os.path.exists(path):
            _make(path)
        return _read(path)
    except OSError as error:
        raise Unsupported(f"{path}: {error.strerror}") from error


def write_keys(job: Path, secret: bytes) -> None:
    """On a host that does not see the job's directory: its secret, which came by ssh, and that of
    its software HCAs, which each host makes of it."""
    _put(job / _FILE, secret)
    _put(job / HCA_KEY, hmac.digest(secret, b"rdb hca", "sha256"))


def same_hca_key(job: Path) -> None:
    """The secret of the software HCAs, as those hosts have it."""
    _put(job / HCA_KEY, hmac.digest(job_secret(str(job)), b"rdb hca", "sha256"))


def _put(path: Path, key: bytes) -> None:
    own = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(own, "xb", opener=opener) as file:
        file.write(key)
    os.rename(own, path)


def _make(path: str) -> None:
    own = f"{path}.{secrets.token_hex(8)}"
    with open(own, "xb", opener=opener) as file:
        file.write(secrets.token_bytes(KEY_BYTES))
    try:
        os.link(own, path)
    except FileExistsError:  # another was faster
        pass
    finally:
        os.unlink(own)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
            raise NotYours(f"{path} must be its owner's alone", f"chmod 600 {path}")
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        raise NotYours(f"{path} is not a key", f"remove it: rm {path}")
    return key
