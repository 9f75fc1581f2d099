"""Checkpoints of a job without a log: asking for one, and finding finished ones."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdb.checked import from_json
from rdb.coordinate.board import Board, Slot, State, Verdict, board_path
from rdb.coordinate.centre import centre_address
from rdb.coordinate.request import send_request
from rdb.errors import DamagedRecording, RdbError, UnknownJob
from rdb.recording import Job
from rdb.recording.checkpoints import check_image, image_path

_COMMIT = re.compile(r"commit-(\d+)\Z")
_LOOK_S = 0.005
_BEGIN_S = 30.0
_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Together:
    """A checkpoint that all ranks have finished."""

    number: int
    nranks: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Taken:
    number: int
    stood_ns: list[int]
    fork_ns: list[int]
    size_bytes: list[int]


def unrecorded(job: Job) -> bool:
    """Whether the job runs, or ran, without a log and with checkpoints."""
    return bool(_boards(job)) or job.meta.get("record") == "off"


def _boards(job: Job) -> list[Path]:
    return [path for path in job.path.glob("board*") if path.name.split("-")[0] == "board"]


def slots_of(job: Job) -> list[Slot]:
    """The last slot of each rank, from the board of the rank's host."""
    found: dict[int, Slot] = {}
    for path in _boards(job):
        for rank, slot in enumerate(Board(path).slots()):
            if path.name in ("board", f"board-{slot.host}"):
                found[rank] = slot
            else:
                found.setdefault(rank, slot)
    return [found[rank] for rank in sorted(found)]


def committed(job: Path) -> list[Together]:
    """The finished checkpoints, in order; damaged `commit-N` files are left out."""
    found = [one for one in _commits(job) if isinstance(one, Together)]
    return sorted(found, key=lambda one: one.number)


def _commits(job: Path) -> Iterator[Together | DamagedRecording]:
    for path in job.glob("commit-*"):
        if not _COMMIT.match(path.name):
            continue
        ranks = sum(1 for _ in job.glob("rank-*/log-000000.seg"))
        try:
            told = from_json(path.read_text(encoding="utf-8"))
            one = Together(int(told["number"]), int(told["ranks"]), int(told["at_ns"]))
        except (ValueError, KeyError, TypeError):
            yield DamagedRecording(
                f"{path}: offset 0: expected a checkpoint's description, in JSON with its checksum"
            )
            continue
        if path.name != f"commit-{one.number}" or one.nranks < ranks:
            yield DamagedRecording(
                f"{path}: expected the number of its name, and {ranks} ranks or more"
            )
            continue
        yield one


def missing(job: Path, one: Together) -> list[Path]:
    """Files of the checkpoint that no longer exist."""
    parts = []
    for rank in range(one.nranks):
        folder = job / f"rank-{rank}"
        parts += [image_path(folder, one.number), folder / f"state-{one.number}"]
    return [path for path in parts if not path.exists()]


def damaged_commits(job: Job) -> list[str]:
    """A line for each checkpoint that was finished but whose `commit-N` file is damaged."""
    found = [one for one in _commits(job.path) if isinstance(one, DamagedRecording)]
    return [f"a checkpoint is not used: {one.message}" for one in found]


def choose(job: Job, at: str | None) -> Together:
    """The checkpoint AT (`ckpt:N`), or the newest one.

    UnknownJob: there is none. DamagedRecording: all `commit-N` files are damaged.
    """
    known = committed(job.path)
    damaged = [one for one in _commits(job.path) if isinstance(one, DamagedRecording)]
    if not known and damaged:
        raise damaged[0]
    if not known:
        raise UnknownJob(
            f"{job.name} has no checkpoint that all its ranks finished, and no log",
            "it ran with --record=off: rdb checkpoint takes one while it runs",
        )
    if at is None:
        return known[-1]
    numbers = {f"ckpt:{one.number}": one for one in known}
    if at not in numbers:
        raise UnknownJob(
            f"{job.name} has no {at}: it ran with --record=off, and has only checkpoints",
            f"it has {', '.join(numbers)}",
        )
    return numbers[at]


def choose_whole(job: Job, at: str | None) -> tuple[Together, list[str]]:
    """As `choose`, but the newest checkpoint whose files are undamaged.

    Also returns a line for each newer one that is damaged.
    """
    lost = [] if at else damaged_commits(job)
    newest = choose(job, at)
    first: DamagedRecording | None = None
    for one in [newest] if at else reversed(committed(job.path)):
        try:
            check_whole(job, one)
        except DamagedRecording as error:
            first = first or error
            lost.append(f"checkpoint {one.number} is not used: {error.message}")
        else:
            return one, lost
    assert first is not None
    raise first


def check_whole(job: Job, one: Together) -> None:
    """DamagedRecording names the first file that is missing or damaged."""
    for path in missing(job.path, one):
        raise DamagedRecording(f"{path} is missing", "choose another checkpoint")
    for rank in range(one.nranks):
        check_image(job.path / f"rank-{rank}", job.path / "files", one.number, state=True)


def alive(job: Job) -> bool:
    """Whether any rank runs.  Waits up to _BEGIN_S seconds after the job's creation for
    its start.
    """
    _wait_for_beginning(job)
    if centre_address(job.path) is not None:
        # late import: asyncio takes as long as all the rest
        from rdb.coordinate.relay import ask_centre
        from rdb.wire.channel import Closed

        try:
            return bool(ask_centre(job.path, {"op": "alive"})["alive"])
        except Closed:  # the last relay has ended
            return False
    if not board_path(job.path).exists():
        return False
    return any(_there(slot) for slot in Board(board_path(job.path)).slots())


def _wait_for_beginning(job: Job) -> None:
    """Waits while the job exists, but its ranks, or the relays of their hosts, do not yet."""
    until_s = job.meta.get("created_ns", 0) / 1e9 + _BEGIN_S
    while time.time() < until_s and not _begun(job):
        time.sleep(_LOOK_S)


def _begun(job: Job) -> bool:
    path = board_path(job.path)
    if not path.exists():
        return centre_address(job.path) is not None
    try:
        return all(slot.state is not State.ABSENT for slot in Board(path).slots())
    except DamagedRecording:  # it is being made
        return False


def _there(slot: Slot) -> bool:
    if slot.host != os.uname().nodename:
        return slot.there  # its relay reports its end
    return slot.lives


def none_taken(job: Path) -> str | None:
    """Why no checkpoint was taken; None: none was asked for, or there is one."""
    path = board_path(job)
    if committed(job) or not path.exists():
        return None
    board = Board(path)
    wanted = board.wanted
    if not wanted:
        return None
    what = "the checkpoint that was" if wanted == 1 else f"all {wanted} checkpoints that were"
    why = "it was not finished"
    if board.verdict(wanted) is Verdict.NO:
        why = board.why or "not all ranks could be stopped in time"
    return f"there is no checkpoint: {what} asked for failed, the last time because: {why}"


def take(job: Job, timeout_s: int) -> Taken:
    """Takes a checkpoint: asks all ranks, and waits until all have written it.

    RdbError: the job does not run or ends, a rank refuses or cannot write, or TIMEOUT_S passes.
    """
    if not alive(job):
        raise RdbError(f"{job.name} does not run", "rdb ls shows what runs")
    if centre_address(job.path) is not None:
        return _of_several_hosts(job, timeout_s)
    board = Board(board_path(job.path))
    generation = board.want()
    until_s, again_s = time.monotonic() + timeout_s, 0.0
    while board.verdict(generation) is Verdict.OPEN:
        # a rank that could not be held then may make no further call
        if time.monotonic() > again_s:
            _signal(board)
            again_s = time.monotonic() + _AGAIN_S
        if time.monotonic() > until_s and board.decide(generation, Verdict.NO):
            raise _late(job, timeout_s, board)
        # a rank that has ended may have agreed before
        if not alive(job) and board.verdict(generation) is Verdict.OPEN:
            raise RdbError(f"{job.name} has ended meanwhile")
        time.sleep(_LOOK_S)
    if board.verdict(generation) is Verdict.NO:
        raise RdbError(f"no checkpoint of {job.name}: {board.why}", "the job goes on")
    return _written(job, board, generation, until_s)


def _signal(board: Board) -> None:
    """Asks the ranks of this host; ranks of other hosts notice at their next MPI call."""
    here = os.uname().nodename
    for slot in board.slots():
        if slot.host == here and slot.state is State.RUNS and _there(slot):
            try:
                send_request(slot.pid, slot.started)
            except RdbError:
                if _there(slot):  # otherwise it has just ended, which the job reports
                    raise


def _late(job: Job, timeout_s: int, board: Board | None = None) -> RdbError:
    slots = board.slots() if board else []
    for rank, slot in enumerate(slots):
        if slot.calls:
            return RdbError(
                f"no checkpoint of {job.name}: rank {rank} was in a callback before the checkpoint "
                f"for {timeout_s} s",
                "the job goes on",
            )
    behind = _behind(slots)
    why = ""
    if behind:
        why = ": rank {} had not begun a collective in which rank {} was".format(*behind)
    return RdbError(
        f"not all ranks of {job.name} could be stopped within {timeout_s} s{why}; they go on",
        "use a larger --timeout",
    )


def _behind(slots: list[Slot]) -> tuple[int, int] | None:
    """A rank that has begun fewer collectives of some communicator, and one that has begun more."""
    for comm in {comm for slot in slots for comm in slot.clocks}:
        counts = [(slot.clocks[comm], k) for k, slot in enumerate(slots) if comm in slot.clocks]
        fewest, most = min(counts), max(counts)
        if fewest[0] < most[0]:
            return fewest[1], most[1]
    return None


def _failed(job: Job, rank: int, generation: int) -> RdbError:
    return RdbError(
        f"rank {rank} of {job.name} could not write checkpoint {generation}",
        "the checkpoint before it is still complete",
    )


def _of_several_hosts(job: Job, timeout_s: int) -> Taken:
    from rdb.coordinate.relay import ask_centre  # late import, as above

    told = ask_centre(job.path, {"op": "take", "timeout_s": timeout_s})
    generation = int(told["generation"])
    if told["verdict"] == Verdict.NO:
        raise RdbError(f"no checkpoint of {job.name}: {told['why']}", "the job goes on")
    if told["verdict"] == Verdict.OPEN:
        raise _late(job, timeout_s)
    if told["failed"]:
        raise _failed(job, told["failed"][0], generation)
    if min(told["written"]) < generation:
        raise RdbError(f"checkpoint {generation} of {job.name} is not written yet")
    return Taken(generation, told["stood_ns"], told["fork_ns"], told["size_bytes"])


def _sizes(job: Job, nranks: int, generation: int) -> list[int]:
    paths = [image_path(job.path / f"rank-{rank}", generation) for rank in range(nranks)]
    return [path.stat().st_blocks * 512 if path.exists() else 0 for path in paths]


def _written(job: Job, board: Board, generation: int, until_s: float) -> Taken:
    while True:
        may_finish = board.may_finish(generation)
        slots = board.slots()
        whole = board.committed >= generation
        # a rank stores how long it stood still when it goes on
        if whole and (
            all(slot.state is not State.HELD for slot in slots) or time.monotonic() > until_s
        ):
            break
        failed = [rank for rank, slot in enumerate(slots) if slot.failed >= generation]
        if failed:
            raise _failed(job, failed[0], generation)
        if not whole and not may_finish:
            raise RdbError(f"what wrote checkpoint {generation} of {job.name} was killed")
        if time.monotonic() > until_s:
            raise RdbError(f"checkpoint {generation} of {job.name} is not written yet")
        time.sleep(_LOOK_S)
    return Taken(
        generation,
        [slot.stood_ns for slot in slots],
        [slot.fork_ns for slot in slots],
        _sizes(job, board.nranks, generation),
    )
