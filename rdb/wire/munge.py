"""The job's secret on its way to agents under Slurm: in a credential of MUNGE's, for its user.

So agents need not read it in the job's directory.  The programs `munge` and `unmunge` do it all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from rdb.errors import NotYours

_TIMEOUT_S = 20.0


def sealed(secret: bytes) -> str | None:
    """What only this user can open, on a host of the cluster and there once; None: no MUNGE."""
    munge = shutil.which("munge")
    if munge is None:
        return None
    # the secret is no argument: those are seen by all
    done = _run([munge, "--restrict-uid", str(os.geteuid())], secret.hex())
    return done.stdout.strip() if done.returncode == 0 else None


def opened(credential: str) -> bytes:
    unmunge = shutil.which("unmunge")
    if unmunge is None:
        raise NotYours("unmunge is not in PATH")
    done = _run([unmunge], credential)
    said, _, secret = done.stdout.partition("\n\n")
    if done.returncode != 0:
        words = done.stderr.strip() or said.partition("\n")[0].removeprefix("STATUS:").strip()
        raise NotYours(f"the job's secret: {words}")
    user = re.search(r"^UID: .*\((\d+)\)$", said, re.M)
    if user is None or int(user[1]) != os.geteuid():
        raise NotYours("the job's secret comes from another user")
    return bytes.fromhex(secret.strip())


def _run(line: list[str], text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line, input=text, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
