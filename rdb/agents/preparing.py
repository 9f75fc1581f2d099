"""Before a job starts on hosts that share no file system: each gets what its ranks need there.

And while it runs: what its ranks tell each other by files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rdb.agents.elsewhere import Elsewhere
from rdb.agents.fetching import listed, prepare, put_copy, put_pack
from rdb.agents.mirror import Mirror
from rdb.coordinate.joining import APART, CENTRE, NO_CENTRE
from rdb.errors import RdbError
from rdb.private import opener
from rdb.recording import Job
from rdb.wire.secret import same_hca_key

_MADE_HERE = (
    *("job.json", "restart.json", "later-files", "sockets-ranks", "kept-budget"),
    *("in-flight-*", "verbs-plan-*", "verbs-begun-*", "mpi-files-*"),
)
_FOLDERS = ("later", "mpi-files")


@contextmanager
def prepared_hosts(
    job: Job,
    hosts: Sequence[str],
    pack: Path | None = None,
    parent: Job | None = None,
    copies: Callable[[Sequence[str]], Mapping[Path, str]] = lambda _: {},
) -> Iterator[bool]:
    """Makes the job's directory where it is not seen; False if all hosts see it.

    PACK: what it is a branch of, for those that do not have it; PARENT is that job here.
    COPIES is told those hosts first, and says of files in the directory where they are to be; it
    may refuse.
    While this is open the directories are kept alike.
    """
    if not hosts:
        yield False
        return
    with Elsewhere(job, hosts) as elsewhere:
        elsewhere.agents.need_all()
        if elsewhere.apart:
            moved = copies(elsewhere.apart)
            _prepare(elsewhere, job, pack, parent)
            for path, host in moved.items():
                if path.exists():
                    elsewhere.call(put_copy(elsewhere.agents, host, path))
                    path.unlink()
            with elsewhere.meanwhile(Mirror(elsewhere.agents, elsewhere.apart, job.path).run()):
                yield True
            return
    yield False


def _prepare(elsewhere: Elsewhere, job: Job, pack: Path | None, parent: Job | None) -> None:
    if parent is not None:
        _bring_parent(elsewhere, parent, pack)
    same_hca_key(job.path)
    files = {
        path.name: path.read_bytes().decode("utf-8", "surrogateescape")
        for pattern in _MADE_HERE
        for path in job.path.glob(pattern)
    }
    folders = [name for name in _FOLDERS if (job.path / name).is_dir()]
    message = {
        **{"files": files, "folders": folders},
        **{"parent": str(parent.path) if parent else None},
    }
    some_here = set(elsewhere.agents.hosts) > set(elsewhere.apart)
    path = job.path / APART
    path.unlink(missing_ok=True)
    with open(path, "x", encoding="ascii", opener=opener) as file:
        file.write(CENTRE if some_here else NO_CENTRE)
    elsewhere.call(prepare(elsewhere.agents, elsewhere.apart, message, some_here))


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


def copies_elsewhere(job: Job, copies: Mapping[Path, str]) -> list[tuple[str, Path]]:
    """COPIES: of files, and the host of each.  Those that are there now."""
    with Elsewhere(job, list(copies.values())) as elsewhere:
        names = {
            host: {one[0] for one in elsewhere.call(listed(elsewhere.agents, host))}
            for host in elsewhere.apart
        }
    return [
        (host, path)
        for path, host in copies.items()
        if path.relative_to(job.path).as_posix() in names.get(host, ())
    ]
