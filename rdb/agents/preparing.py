"""Prepares hosts that share no file system: each gets the files that its ranks need at the start.

While the job runs, the files by which ranks tell each other things are copied between hosts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rdb.agents.elsewhere import Elsewhere
from rdb.agents.fetching import listed, prepare, put_copy, put_pack
from rdb.agents.mirror import Mirror
from rdb.agents.parts import FOLDERS, MADE
from rdb.coordinate.centre import APART, CENTRE, NO_CENTRE
from rdb.errors import RdbError
from rdb.private import opener
from rdb.recording import Job
from rdb.recording.state import still_runs
from rdb.wire.identity import same_hca_key


@contextmanager
def prepared_hosts(
    job: Job,
    hosts: Sequence[str],
    pack: Path | None = None,
    parent: Job | None = None,
    copies: Callable[[Sequence[str]], Mapping[Path, str]] = lambda _: {},
) -> Iterator[bool]:
    """Makes the job's directory on those of HOSTS that do not see it; yields False if all see it.

    PACK: the pack of PARENT, the job that JOB is a branch of, for hosts without PARENT. COPIES gets
    the names of those hosts and returns the host of each file that is needed elsewhere; it may
    raise RdbError. While the context is open, `Mirror` keeps the directories alike.
    """
    with Elsewhere(job, hosts) as elsewhere:
        elsewhere.agents.need_all()
        if elsewhere.apart:
            try:
                moved = copies(elsewhere.apart)
                _prepare(elsewhere, job, pack, parent)
                for path, host in moved.items():
                    if path.exists():
                        elsewhere.call(put_copy(elsewhere.agents, host, path))
                        path.unlink()
            except BaseException:
                elsewhere.all({"op": "discard"})
                (job.path / APART).unlink(missing_ok=True)
                raise
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
        for path in job.path.iterdir()
        if MADE.match(path.name)
    }
    folders = [name for name in FOLDERS if (job.path / name).is_dir()]
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
                f"{host} has unpacked {pack.name} into {path}, this host into {parent.path}",
                "set RDB_HOME to a directory of the same name on all hosts",
            )


def recorded_elsewhere(job: Job, hosts: Sequence[str]) -> Collection[int]:
    """Ranks whose recordings are on hosts that do not see the job's directory.

    If no rank has recorded anything, the prepared directories are removed.
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


def recorded_anywhere(job: Job, hosts: Sequence[str]) -> Collection[int]:
    """The ranks that have recorded something, here or on HOSTS; all if a host does not answer.

    For a job that an error has interrupted: what may be on other hosts can still be asked for.
    """
    here = {rank for rank in job.ranks if (job.path / f"rank-{rank}/log-000000.seg").exists()}
    if not (job.path / APART).exists():
        return here
    try:
        return here.union(recorded_elsewhere(job, hosts))
    except RdbError:
        return range(int(job.meta.get("nranks") or 1))


def remove_everywhere(job: Job) -> dict[str, str]:
    """Removes the job here and on hosts with disks of their own.

    Returns the hosts that may still have their part, with the reason.  RdbError: a rank runs.
    """
    hosts = [str(one) for one in job.meta.get("hosts", ())]
    try:
        elsewhere = Elsewhere(job, hosts)
    except RdbError as error:
        job.remove()
        return dict.fromkeys(hosts, error.message)
    with elsewhere:
        for process, state in elsewhere.states().items():
            if state.lives:
                raise still_runs(process, job.name)
        job.remove()
        left = dict(elsewhere.failed)
        for host in elsewhere.apart:
            try:
                elsewhere.call(elsewhere.agents.one(host, {"op": "discard", "recorded": True}))
            except RdbError as error:
                left[host] = error.message
        return left


def copies_elsewhere(job: Job, copies: Mapping[Path, str]) -> list[tuple[str, Path]]:
    """COPIES maps a file to its host.  Returns those that are on their hosts now."""
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
