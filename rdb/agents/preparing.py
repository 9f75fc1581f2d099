"""Before a job starts on hosts that share no file system: each gets what its ranks need there."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

from rdb.agents.elsewhere import Elsewhere
from rdb.agents.fetching import prepare, put_pack
from rdb.errors import RdbError
from rdb.recording import Job

_MADE_HERE = ("job.json", "restart.json", "in-flight-*")


def prepare_hosts(job: Job, hosts: Sequence[str], pack: Path | None, parent: Job | None) -> bool:
    """Makes the job's directory where it is not seen; False if all hosts see it.

    PACK: what it is a branch of, for those that do not have it; PARENT is that job here.
    """
    with Elsewhere(job, hosts) as elsewhere:
        elsewhere.agents.need_all()
        if not elsewhere.apart:
            return False
        if parent is not None:
            _bring_parent(elsewhere, parent, pack)
        files = {
            path.name: path.read_text(encoding="utf-8")
            for pattern in _MADE_HERE
            for path in job.path.glob(pattern)
        }
        message = {"files": files, "parent": str(parent.path) if parent else None}
        elsewhere.call(prepare(elsewhere.agents, elsewhere.apart, message))
        return True


def _bring_parent(elsewhere: Elsewhere, parent: Job, pack: Path | None) -> None:
    if pack is None:
        raise RdbError(
            f"{elsewhere.apart[0]} does not see {parent.path}",
            f"rdb pack {parent.name} -o {parent.name}.rdb, and restart that",
        )
    with pack.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    for host in elsewhere.apart:
        path = elsewhere.call(put_pack(elsewhere.agents, host, pack, sha256))
        if path != str(parent.path):
            raise RdbError(
                f"{host} has unpacked {pack.name} as {path}, this host as {parent.path}",
                "set RDB_HOME to a directory of the same name on all hosts",
            )


def recorded_elsewhere(job: Job, hosts: Sequence[str]) -> Collection[int]:
    """Ranks whose recordings are on hosts that do not see the job's directory.

    What was prepared for a job without any is taken back.
    """
    with Elsewhere(job, hosts) as elsewhere:
        answers = elsewhere.all({"op": "ranks"})
        found = {
            int(one["rank"]) for host in elsewhere.apart for one in answers[host].get("ranks", ())
        }
        if not found and not any(job.path.glob("rank-*/log-000000.seg")):
            for host in elsewhere.apart:
                elsewhere.call(elsewhere.agents.one(host, {"op": "discard"}))
        return found
