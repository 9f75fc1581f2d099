"""Checkpoints of a job that runs without a recording: asking for one, and which there are."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdb.checked import from_json
from rdb.coordinate.board import Board, Slot, State, Verdict, board_path, process_there
from rdb.coordinate.joining import centre_address
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
    """A checkpoint that all ranks have whole."""

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
    """Does (or did) it run without a log, with checkpoints?"""
    return bool(_boards(job)) or job.meta.get("record") == "off"


def _boards(job: Job) -> list[Path]:
    return [path for path in job.path.glob("board*") if path.name.split("-")[0] == "board"]


def slots_of(job: Job) -> list[Slot]:
    """What each rank has said of itself last, on the board of its host."""
    found: dict[int, Slot] = {}
    for path in _boards(job):
        for rank, slot in enumerate(Board(path).slots()):
            if path.name in ("board", f"board-{slot.host}"):
                found[rank] = slot
            else:
                found.setdefault(rank, slot)
    return [found[rank] for rank in sorted(found)]


def committed(job: Path) -> list[Together]:
    """In order; what is not whole is none."""
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
                f"{path}: offset 0: expected what the checkpoint is, in JSON with its checksum"
            )
            continue
        if path.name != f"commit-{one.number}" or one.nranks < ranks:
            yield DamagedRecording(f"{path}: expected that number, and {ranks} ranks or more")
            continue
        yield one


def missing(job: Path, one: Together) -> list[Path]:
    """Files of that checkpoint that are not there any more."""
    parts = []
    for rank in range(one.nranks):
        folder = job / f"rank-{rank}"
        parts += [image_path(folder, one.number), folder / f"state-{one.number}"]
    return [path for path in parts if not path.exists()]


def damaged_commits(job: Job) -> list[str]:
    """Of checkpoints that were whole, and of which nobody knows that any more, why."""
    found = [one for one in _commits(job.path) if isinstance(one, DamagedRecording)]
    return [f"a checkpoint is not used: {one.message}" for one in found]


def choose(job: Job, at: str | None) -> Together:
    """`ckpt:N`, or the newest one."""
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
            f"{job.name} has no {at}: it ran without a log",
            f"it has {', '.join(numbers)}",
        )
    return numbers[at]


def choose_whole(job: Job, at: str | None) -> tuple[Together, list[str]]:
    """The same, of those whose files are whole; and of newer ones that are not, why."""
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
    """Raises which of its files is not as it was written."""
    for path in missing(job.path, one):
        raise DamagedRecording(f"{path}: it is not there any more", "choose another checkpoint")
    for rank in range(one.nranks):
        check_image(job.path / f"rank-{rank}", job.path / "files", one.number, state=True)


def alive(job: Job) -> bool:
    """Does any rank run?"""
    _wait_for_beginning(job)
    if centre_address(job.path) is not None:
        from rdb.coordinate.relay import ask_centre  # late: asyncio takes as long as all else

        try:
            return bool(ask_centre(job.path, {"op": "alive"})["alive"])
        except RdbError:  # the last one that spoke for a rank is gone
            return False
    if not board_path(job.path).exists():
        return False
    return any(slot.there and _there(slot) for slot in Board(board_path(job.path)).slots())


def _wait_for_beginning(job: Job) -> None:
    """A job is there a moment before its ranks, and they before those who speak for their hosts."""
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
    if slot.host != socket.gethostname():
        return True  # another machine's: its ranks say so themselves
    return process_there(slot.pid)


def take(job: Job, timeout_s: int) -> Taken:
    """Asks all ranks, and waits until all have it whole."""
    if not alive(job):
        raise RdbError(f"{job.name} does not run", "rdb ls shows what runs")
    if centre_address(job.path) is not None:
        return _of_several_hosts(job, timeout_s)
    board = Board(board_path(job.path))
    generation = board.want()
    until_s, again_s = time.monotonic() + timeout_s, 0.0
    while board.verdict(generation) is Verdict.OPEN:
        if time.monotonic() > again_s:  # who could not be held then may make no call
            _signal(board)
            again_s = time.monotonic() + _AGAIN_S
        if time.monotonic() > until_s:
            board.refuse(generation)
            raise _late(job, timeout_s)
        if not alive(job):
            raise RdbError(f"{job.name} has ended meanwhile")
        time.sleep(_LOOK_S)
    if board.verdict(generation) is Verdict.NO:
        raise RdbError(f"no checkpoint of {job.name}: {board.why}", "the job goes on")
    return _written(job, board, generation, until_s)


def _signal(board: Board) -> None:
    """Those on other hosts come to it at their next call of MPI."""
    here = socket.gethostname()
    for slot in board.slots():
        if slot.host == here and slot.state is State.RUNS and _there(slot):
            try:
                send_request(slot.pid)
            except RdbError:
                if _there(slot):  # else it has ended just now, which its job will say
                    raise


def _late(job: Job, timeout_s: int) -> RdbError:
    return RdbError(
        f"the ranks of {job.name} have not come to rest in {timeout_s} s; they go on",
        "a larger --timeout waits longer",
    )


def _failed(job: Job, rank: int, generation: int) -> RdbError:
    return RdbError(
        f"rank {rank} of {job.name} could not write checkpoint {generation}",
        "the one before it is still whole",
    )


def _of_several_hosts(job: Job, timeout_s: int) -> Taken:
    from rdb.coordinate.relay import ask_centre  # late, as above

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
        slots = board.slots()
        whole = all(slot.written >= generation for slot in slots)
        # how long it stood still a rank says as it goes on
        if whole and (
            all(slot.state is not State.HELD for slot in slots) or time.monotonic() > until_s
        ):
            break
        failed = [rank for rank, slot in enumerate(slots) if slot.failed >= generation]
        if failed:
            raise _failed(job, failed[0], generation)
        if time.monotonic() > until_s:
            raise RdbError(f"checkpoint {generation} of {job.name} is not written yet")
        time.sleep(_LOOK_S)
    return Taken(
        generation,
        [slot.stood_ns for slot in slots],
        [slot.fork_ns for slot in slots],
        _sizes(job, board.nranks, generation),
    )
