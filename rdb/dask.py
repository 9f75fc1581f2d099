"""Work on the ranks of a job where their recordings are: by the workers of a Dask scheduler.

A rank's work goes to workers on hosts that have its recording; Dask chooses among them, and gives
the work of a worker that has died to another.  All connections are TLS with the job's key and
certificate (rdb/wire/identity.py): whoever has not got them can neither send work nor get it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, TypeVar

from rdb import __version__
from rdb.errors import MissingTool, RdbError, UnknownJob, Unsupported, Usage, VersionMismatch
from rdb.executor import wait_for
from rdb.recording import Job, RankRecording, open_job
from rdb.wire.channel import own_address
from rdb.wire.hosts import by_srun, by_ssh
from rdb.wire.identity import KEY_FILE, job_identity

try:
    from distributed import Client, LocalCluster, Security
    from distributed.comm import get_address_host
    from distributed.scheduler import KilledWorker
except ImportError as error:
    raise MissingTool(f"--on needs Dask: {error}", "pip install 'rdb[dask]'") from None

_CONNECT_S = 20
_LOST_S = 60.0
_START_S = 60.0
_END_S = 10.0
T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def dask(job: Job, on: str, what: str) -> Iterator[Dask]:
    """ON: `ssh` or `slurm` (workers on the job's hosts or those of this allocation, as long as the
    context), or `dask:HOST:PORT` (those of a scheduler).  WHAT: as of Processes."""
    job_identity(str(job.path))  # makes it, and checks that it is the user's alone
    pem = str(job.path / KEY_FILE)
    ends = [
        f"tls_{end}_{part}" for end in ("client", "scheduler", "worker") for part in ("cert", "key")
    ]
    security = Security(require_encryption=True, tls_ca_file=pem, **dict.fromkeys(ends, pem))
    logging.disable()  # an exception says the same in one line
    with ExitStack() as stack:
        if on in ("ssh", "slurm"):
            starts: list[_Start] = []
            stack.callback(_end, starts)
            scheduler = stack.enter_context(
                LocalCluster(
                    n_workers=0,
                    host=own_address()[0],
                    protocol="tls://",
                    security=security,
                    dashboard_address="127.0.0.1:0",
                )
            )
            client = stack.enter_context(Client(scheduler, security=security))
            worker = _worker(pem, scheduler.scheduler_address)
            lines, hosts = _by_ssh(job, worker) if on == "ssh" else _by_srun(worker)
            starts += [_start(line, stack.enter_context(TemporaryFile())) for line in lines]
            _await(client, hosts, starts)
        else:
            address = f"tls://{on.removeprefix('dask:').removeprefix('tls://')}"
            try:
                client = stack.enter_context(Client(address, security=security, timeout=_CONNECT_S))
            except (OSError, ValueError) as error:
                raise Unsupported(
                    f"no Dask scheduler at {address} has this job's certificate: {error}",
                    "docs/clusters.md shows how to start one",
                ) from error
        yield Dask(client, str(job.path), what)


def _worker(pem: str, scheduler: str) -> list[str]:
    """The command of a host's workers: one for each of its processors, which end with SCHEDULER."""
    keys = [word for name in ("ca-file", "cert", "key") for word in (f"--tls-{name}", pem)]
    line = [sys.executable, "-m", "distributed.cli.dask_worker", *keys, "--no-dashboard"]
    line += ["--nworkers", "-1", "--nthreads", "1", "--death-timeout", f"{_START_S:.0f}"]
    return [*line, scheduler]


def _by_ssh(job: Job, worker: Sequence[str]) -> tuple[list[list[str]], int]:
    """The commands that start WORKER on each host, and how many hosts that are."""
    hosts = [str(one) for one in job.meta.get("hosts", ())]
    if not hosts:
        raise Usage(f"--on ssh: {job.name} names no hosts", "it was not run with --hosts")
    return [by_ssh(host, worker) for host in hosts], len(hosts)


def _by_srun(worker: Sequence[str]) -> tuple[list[list[str]], int]:
    allocation, nodes = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_JOB_NUM_NODES")
    if allocation is None or nodes is None:
        raise Usage("--on slurm: this is no allocation of Slurm", "salloc makes one")
    return [by_srun(allocation, int(nodes), worker)], int(nodes)


class _Start(NamedTuple):
    """A command that starts workers, and its messages."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]

    def last_words(self) -> str:
        self.output.seek(0)
        said = self.output.read().decode(errors="replace").strip().splitlines()
        return said[-1] if said else "it ended without a message"


def _start(line: Sequence[str], output: IO[bytes]) -> _Start:
    process = subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,  # the terminal's Ctrl-C is for this process, which ends them
    )
    return _Start(process, output)


def _await(client: Client, hosts: int, starts: Sequence[_Start]) -> None:
    """Waits until workers of all HOSTS are there, or no more will come."""
    until_s = time.monotonic() + _START_S
    each = hosts // len(starts)
    while time.monotonic() < until_s:
        ended = [one for one in starts if one.process.poll() is not None]
        there = len(set(map(get_address_host, client.nthreads())))
        if there + each * len(ended) >= hosts:
            break
        time.sleep(0.05)
    for one in ended:
        print(f"rdb: workers did not start: {one.last_words()}", file=sys.stderr)


def _end(starts: Sequence[_Start]) -> None:
    """The scheduler has ended, and so the workers do."""
    until_s = time.monotonic() + _END_S
    for one in starts:
        try:
            one.process.wait(max(0.0, until_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.process.terminate()
            one.process.wait()


class Dask:
    """The workers that CLIENT's scheduler knows: an Executor (rdb/executor.py).

    `ranks`: those whose recordings any worker sees.
    """

    def __init__(self, client: Client, job: str, what: str) -> None:
        """JOB: its directory, on this host and on those of the workers."""
        self._client, self._what = client, what
        self._hosts = self._recorded(job)
        self.ranks = sorted(self._hosts)
        self._executors: dict[frozenset[str], Executor] = {}

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Generator[R, None, None]:
        parts = [self._executor(_rank(item)).submit(function, item) for item in items]
        try:
            for item, part in zip(items, parts, strict=True):
                seen_s = time.monotonic()
                while not wait_for(part, parts, self._what):
                    hosts = self._hosts[_rank(item)]
                    if not hosts.isdisjoint(self._there()):
                        seen_s = time.monotonic()
                    elif time.monotonic() - seen_s > _LOST_S:
                        raise Unsupported(
                            f"there is no worker on {' and '.join(sorted(hosts))} any more; "
                            f"{self._what} {item} has no answer"
                        )
                try:
                    answer = part.result()
                except KilledWorker as error:
                    raise RdbError(
                        f"workers were killed; {self._what} {item} has no answer",
                        f"is there enough memory? the last one was {error.last_worker.address}",
                    ) from None
                except CancelledError:
                    raise _lost() from None
                yield answer
        finally:
            for part in parts:
                part.cancel()

    def _there(self) -> set[str]:
        """The hosts that have workers now."""
        try:
            return set(map(get_address_host, self._client.nthreads()))
        except OSError:
            raise _lost() from None

    def _recorded(self, job: str) -> dict[int, frozenset[str]]:
        """Rank -> the hosts with workers that have its recording, to its newest event."""
        one_of_each = {get_address_host(worker): worker for worker in self._client.nthreads()}
        answers = self._client.run(
            _ranks_here, job, workers=list(one_of_each.values()), on_error="return"
        )
        newest: dict[int, int] = {}
        found: dict[int, set[str]] = {}
        for worker, answer in answers.items():
            if isinstance(answer, RdbError):
                raise answer
            if not isinstance(answer, tuple):
                raise Unsupported(f"the worker {worker} cannot work for rdb: {answer!r}")
            version, ranks = answer
            if version != __version__:
                raise VersionMismatch(f"the worker {worker} has rdb {version}, not {__version__}")
            for rank, event in ranks.items():
                if event > newest.get(rank, event - 1):
                    newest[rank], found[rank] = event, set()
                if event == newest[rank]:
                    found[rank].add(get_address_host(worker))
        if not found:
            raise UnknownJob(
                f"no worker has a recording of the job: {len(answers)} hosts looked in {job}",
                "start workers on each host of the job (docs/clusters.md)",
            )
        return {rank: frozenset(hosts) for rank, hosts in found.items()}

    def _executor(self, rank: int) -> Executor:
        hosts = self._hosts.get(rank)
        if hosts is None:
            raise UnknownJob(f"no worker has a recording of rank {rank}")
        if hosts not in self._executors:
            self._executors[hosts] = self._client.get_executor(workers=sorted(hosts), pure=False)
        return self._executors[hosts]


def _lost() -> Unsupported:
    return Unsupported("lost the connection to the Dask scheduler")


def _rank(item: Any) -> int:
    return int(getattr(item, "rank", item))


def _ranks_here(path: str) -> tuple[str, dict[int, int]]:
    """At a worker: its version of rdb, and the ranks whose recordings it sees, each with its newest
    event: `rdb attach` may have copied an earlier state of it."""
    try:
        job = open_job(path)
    except UnknownJob:
        return __version__, {}
    return __version__, {rank: _newest(job, rank) for rank in job.ranks}


def _newest(job: Job, rank: int) -> int:
    try:
        path = job.path / f"rank-{rank}"
        return RankRecording(path, job.path / "files").glance().last_event
    except RdbError:  # the work on it says so
        return -1
