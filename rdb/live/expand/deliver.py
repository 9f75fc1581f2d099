"""Has messages made again by replays of the ranks that sent them (interposer/replay/deliver.h)."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from rdb.environment import for_rdb_exec
from rdb.errors import DamagedRecording
from rdb.live.expand.made import Made, publish, put
from rdb.live.expand.senders import Delivery, Plan, Run, Senders
from rdb.live.expand.silence import STATE, Silence, State
from rdb.paths import rdb_exec_path
from rdb.private import opener
from rdb.recording import Job
from rdb.recording.mpi.payloads import Payload
from rdb.recording.order import lean_ranks
from rdb.replay.replica import cause

_LOCK = "expand.lock"
_LOOK_S = 0.02
_SAID = 3  # most reasons that a message names


def regenerate(job: Job) -> tuple[int, list[str]]:
    """Makes all large messages of all ranks again.

    Returns their bytes, and a line for each reason why some could not be made.
    """
    ranks = lean_ranks(job)
    with _Lock(job):
        senders, damaged = Senders(job), []
        wanted: list[tuple[int, Payload]] = []
        for one in list(ranks):
            try:
                wanted += ((one.rank, it) for it in senders.missing(one.rank, 0, one.last_event))
            except DamagedRecording as error:
                ranks.remove(one)
                damaged.append(error.message)
        why = damaged + _make(job, senders, wanted)
        made = {one.rank: Made(one.path) for one in ranks}
        for one in ranks:
            received = senders.payloads(one.rank).received
            if all(made[one.rank].has(payload.offset) for payload in received):
                publish(one.path, not received)
    return sum(it.size_bytes for rank, it in wanted if made[rank].has(it.offset)), why


def regenerate_some(job: Job, rank: int, first: int, most_bytes: int) -> list[str]:
    """Makes messages of one rank again, from event FIRST on: up to its next checkpoint, but not
    more than MOST_BYTES after the first one.  Returns as `regenerate` does."""
    with _Lock(job):
        senders, recording = Senders(job), job.rank(rank)
        last = recording.last_event
        stop = next((one.event for one in recording.images if one.event > first), last)
        # those of that event in any case: what is there may be damaged
        wanted = [(rank, one) for one in senders.payloads(rank).received if one.event == first]
        room = most_bytes
        for payload in senders.missing(rank, first + 1, stop):
            room -= payload.size_bytes
            if room < 0:
                break
            wanted.append((rank, payload))
        return _make(job, senders, wanted)


class _Lock:
    """At most one process makes messages of a job; the next one finds what it has made."""

    def __init__(self, job: Job) -> None:
        self._path = job.path / _LOCK

    def __enter__(self) -> None:
        self._file = open(self._path, "w", opener=opener)
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _make(job: Job, senders: Senders, wanted: Iterable[tuple[int, Payload]]) -> list[str]:
    plan = senders.plan(wanted)
    for sender, kept in plan.kept:
        data = bytearray()
        for piece in kept.pieces:
            with (job.rank(sender).path / f"log-{piece.segment:06}.seg").open("rb") as file:
                file.seek(piece.offset)
                data += file.read(piece.size_bytes)
        put(job.rank(kept.to).path, kept.payload.offset, bytes(data))
    why = list(plan.lost)
    if plan.runs:
        why += _run(job, plan)
    return why


def _thread(run: Run, one: Delivery) -> int:
    """Of the send; 0: there is one thread, or the log does not say."""
    if not run.recording.schedule.threaded:
        return 0
    place = run.recording.index.event_place(one.event)
    return 0 if place is None else run.recording.index.thread(place)


class _Replay:
    """One rank that delivers."""

    def __init__(self, job: Job, run: Run, slot: int, folder: Path) -> None:
        self.rank = run.recording.rank
        listed = folder / f"deliver-{slot}"
        with open(listed, "w", opener=opener) as file:
            file.write(f"{slot} {folder / 'state'}\n")
            for one in run.deliveries:
                payload = one.payload
                file.write(
                    f"{one.event} {_thread(run, one)} {one.address} {payload.at} {payload.offset} "
                    f"{payload.size_bytes} {payload.check} {job.rank(one.to).path}\n"
                )
        recording = run.recording
        until = min(run.until, recording.last_event)
        self._said: IO[str] = open(folder / f"said-{slot}", "w+", errors="replace")  # noqa: SIM115
        self.process = subprocess.Popen(
            [
                str(rdb_exec_path()),
                *("--replay", str(recording.path)),
                *("--files", str(recording.files_dir)),
                *("--checkpoint", str(run.checkpoint)),
                *("--until", str(until)),
                *("--deliver", str(listed)),
            ],
            env=for_rdb_exec(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
        )

    def why(self) -> str:
        """The reason of a failure."""
        self._said.seek(0)
        lines = self._said.read().strip().splitlines()
        for line in reversed(lines):
            if line.startswith("{"):
                return str(json.loads(line).get("what", line))
        return cause("\n".join(lines)) or f"exit code {self.process.returncode}"

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._said.close()


def _run(job: Job, plan: Plan) -> list[str]:
    """Runs a plan; returns why it could not be carried out."""
    with tempfile.TemporaryDirectory(prefix="rdb-deliver-") as name:
        folder = Path(name)
        with open(folder / "state", "wb", opener=opener) as file:
            file.truncate(STATE.size * len(plan.runs))
        replays: list[_Replay] = []
        try:
            with (folder / "state").open("r+b") as shared, mmap.mmap(shared.fileno(), 0) as state:
                for slot, run in enumerate(plan.runs.values()):
                    replays.append(_Replay(job, run, slot, folder))
                return _watch(replays, state)
        finally:
            for one in replays:
                one.end()


def _watch(replays: Sequence[_Replay], state: mmap.mmap) -> list[str]:
    """Waits for all; if one fails, or all that are left wait for ever, that is why."""
    why: list[str] = []
    failed: set[int] = set()
    silence = Silence()
    while True:
        left = [slot for slot, one in enumerate(replays) if one.process.poll() is None]
        for slot, one in enumerate(replays):
            if one.process.returncode and slot not in failed:
                failed.add(slot)
                why.append(f"rank {one.rank} cannot be replayed to its send: {one.why()}")
        if not left:
            return why
        states = [State._make(one) for one in STATE.iter_unpack(state[:])]
        if silence.lasts(left, states):
            waiting = ", ".join(str(replays[slot].rank) for slot in left[:_SAID])
            return why or [f"rank {waiting}: a message that no rank sends is waited for"]
        time.sleep(_LOOK_S)


def said(job: Job, why: Sequence[str]) -> str:
    """One line for reasons."""
    more = f" (and {len(why) - 1} more)" if len(why) > 1 else ""
    return f"{job.name}: {why[0]}{more}"
