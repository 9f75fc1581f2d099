"""The pingpongs of ibverbs-utils as two ranks of one job: the server is rank 0, the client rank 1.

The client is started when the server listens.  Both print how many iterations they did; with -c
the server verifies each byte that it has received.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator, Sequence

import openmpi
from events import finalized

from rdb.errors import RdbError
from rdb.live.cut.consistent import Cut, Traffic
from rdb.recording import Job
from rdb.recording.log.record import Kind
from rdb.recording.log.verbs_calls import NAMESPACE_VERBS, Call

ITERATIONS = 100
KINDS = ("rc", "uc", "srq", "ud")
_POST_SEND = NAMESPACE_VERBS << 16 | Call.POST_SEND
# One command for both ranks: the mpirun of Open MPI 5.0.7 crashes when there are two.
_SERVER_OR_CLIENT = """\
[ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ] || exec {line}
while ! grep -qE ':{port:04X} [0-9A-F]+:0000 0A' /proc/net/tcp /proc/net/tcp6
do sleep 0.05; done
exec {line} localhost
"""


def pingpong(kind: str, port: int, iterations: int = ITERATIONS) -> list[str]:
    return [f"ibv_{kind}_pingpong", "-c", "-n", str(iterations), "-s", "1000", "-p", str(port)]


def job_line(rdb: Sequence[str], name: str, hca: str, words: Sequence[str], port: int) -> list[str]:
    """The command that records the job."""
    record = [*rdb, "exec", "--name", name, f"--hca={hca}", "--", *words]
    script = _SERVER_OR_CLIENT.format(port=port, line=shlex.join(record))
    quiet = ["--quiet"] if openmpi.release() < 5 else []  # release 5 does not know it
    return ["mpirun", *quiet, "--oversubscribe", "-n", "2", "sh", "-c", script]


def busy(job: Job, rank: int) -> range:
    """From the rank's first send on, as long as no rank has come to the end."""
    events = [
        record.event
        for record in job.rank(rank).records()
        if record.kind is Kind.HYPERCALL and record.nr == _POST_SEND
    ]
    return range(events[0], events[-len(events) // 10])


def cuts(job: Job, seed: int) -> Iterator[tuple[int, int, Cut]]:
    """Random moments of the game."""
    chosen = random.Random(seed)
    traffic = Traffic(job)
    while True:
        rank = chosen.choice(job.ranks)
        event = chosen.choice(busy(job, rank))
        try:
            cut = traffic.cut(rank, event)
        except RdbError as error:  # in a collective, or a write that others have seen
            assert error.hint is not None and error.hint.startswith("try --at"), error
            event = int(error.hint.split()[-1])
            try:
                cut = traffic.cut(rank, event)
            except RdbError:
                continue
        if not any(finalized(job, one, at) for one, at in cut.events.items()):
            yield rank, event, cut


def check(said: str, iterations: int = ITERATIONS) -> None:
    """Both sides have done all, and every byte was right."""
    assert said.count(f"{iterations} iters in") == 2, said
    assert "invalid data" not in said, said
