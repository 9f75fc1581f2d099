"""A job's key on its way to agents under Slurm, as a MUNGE credential for the user (munge(1)).

srun does not encrypt standard input; a credential is encrypted.  So agents need not read the key
from the job's directory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from rdb.errors import NotYours

_TIMEOUT_S = 20.0


def sealed(key: bytes) -> str | None:
    """A credential that only this user can decode, once per host of the cluster; None: no MUNGE."""
    munge = shutil.which("munge")
    if munge is None:
        return None
    # by standard input: all users see arguments
    done = _run([munge, "--restrict-uid", str(os.geteuid())], key.hex())
    return done.stdout.strip() if done.returncode == 0 else None


def opened(credential: str) -> bytes:
    unmunge = shutil.which("unmunge")
    if unmunge is None:
        raise NotYours("unmunge is not in PATH")
    done = _run([unmunge], credential)
    said, _, key = done.stdout.partition("\n\n")
    if done.returncode != 0:
        words = done.stderr.strip() or said.partition("\n")[0].removeprefix("STATUS:").strip()
        raise NotYours(f"munge cannot decode the job's key: {words}")
    user = re.search(r"^UID: .*\((\d+)\)$", said, re.M)
    if user is None or int(user[1]) != os.geteuid():
        raise NotYours("another user sent the job's key")
    return bytes.fromhex(key.strip())


def _run(line: list[str], text: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            line, input=text, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(line, 1, "", "munged does not answer")
