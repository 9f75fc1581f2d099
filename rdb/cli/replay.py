"""`rdb replay`: each process alone at full speed, its memory compared with the recorded hashes."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rdb.cli.expand import expand_if_needed
from rdb.cli.needed import damage, say_unrecorded
from rdb.cli.on import workers
from rdb.cli.output import print_json
from rdb.environment import for_rdb_exec
from rdb.errors import DamagedRecording, RdbError, UnknownJob, Usage
from rdb.executor import Executor
from rdb.paths import rdb_exec_path
from rdb.recording import Job, ProcessName, RankRecording, find_process, open_job
from rdb.recording.symbols.places import place_name
from rdb.replay.replica import cause, is_of_image


def replay_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    with workers(job, args.rank, args.on, "process") as (pool, ranks):
        return _verify(job, args, pool, ranks)


def _verify(job: Job, args: argparse.Namespace, pool: Executor, ranks: Sequence[int]) -> int:
    if not ranks:
        raise RdbError(f"{job.name} has no ranks", "was it recorded at all?", exit_code=4)
    say_unrecorded(job)
    plan = partial(_plan, job.path, args.rank, args.checkpoint, args.times)
    plans = list(pool.map(plan, ranks))
    damaged = [one for _, found in plans for one in found]
    turns = [turn for found, _ in plans for turn in found]
    if not turns:
        raise damaged[0].error
    if args.on is None or not job.missing:
        expand_if_needed(job.without({one.recording.rank for one in damaged}))
    results: list[dict[str, Any]] = []
    for one in damaged:
        which = {
            "rank": one.recording.rank,
            "process": one.recording.name,
            "turn": 1,
            "cautions": [],
        }
        results.append({**which, "ok": False, "what": one.error.message})
        if not args.json:
            _say(results[-1], 1)
    answers = pool.map(partial(_of_turn, args.patience), turns)
    first: dict[str, str | None] = {}
    for turn, result in zip(turns, answers, strict=True):
        known = first.get(turn.recording.name) or result.get("hash")
        first[turn.recording.name] = known
        if result["ok"] and result.get("hash") != known:
            result.update(ok=False, what=f"its memory hash differs from the first turn's, {known}")
        results.append(result)
        if not args.json:
            _say(result, turn.of)
            for text in result["cautions"] if turn.number == turn.of else ():
                print(f"rdb: rank {turn}, {text}", file=sys.stderr)
    if args.json:
        print_json(results)
    return 0 if all(result["ok"] and "lost" not in result for result in results) else 5


class _Turn(NamedTuple):
    """The NUMBER-th of OF replays of a process, from START (None: from its beginning)."""

    recording: RankRecording
    number: int
    of: int
    start: int | None

    @property
    def rank(self) -> int:
        return self.recording.rank

    def __str__(self) -> str:
        return self.recording.name


class _Damaged(NamedTuple):
    """A process with a log that cannot be used, and why: file and offset."""

    recording: RankRecording
    error: DamagedRecording


def _plan(
    path: Path, name: str | None, checkpoint: str | None, times: int, rank: int
) -> tuple[list[_Turn], list[_Damaged]]:
    """The replays of the processes of RANK that NAME chooses."""
    turns: list[_Turn] = []
    damaged: list[_Damaged] = []
    for one in _chosen(open_job(path), rank, name):
        error = damage(one)
        if error is not None:
            damaged.append(_Damaged(one, error))
            continue
        starts = _starts(one, checkpoint) * times
        turns += [_Turn(one, k, len(starts), start) for k, start in enumerate(starts, 1)]
    return turns, damaged


def _of_turn(patience_s: int, turn: _Turn) -> dict[str, Any]:
    return {
        "rank": turn.rank,
        "process": turn.recording.name,
        "turn": turn.number,
        "cautions": turn.recording.cautions,
        **({} if turn.start is None else {"checkpoint": turn.start}),
        **_replay_from(turn.recording, turn.start, patience_s),
    }


def _chosen(job: Job, rank: int, name: str | None) -> list[RankRecording]:
    """The programs of RANK to replay.

    NAME: None (all processes), a process (it and its descendants) or a program of a process.
    """
    process = job.process(rank)
    if name is not None:
        wanted = ProcessName.parse(name)
        process = find_process(process, wanted)
        if wanted.program is not None:
            return [process.program(wanted.program)]
    return [recording for one in process.walk() for recording in one.programs]


def _starts(recording: RankRecording, wanted: str | None) -> list[int | None]:
    """Numbers of the checkpoints to start from; None: where the recording begins."""
    if wanted is None:
        return [None]
    numbers = [one.number for one in recording.images]
    if wanted == "all":
        return [*numbers] or [None]
    if not wanted.isdigit():
        raise Usage(f"replay: --checkpoint {wanted}: not a number", "or `all`")
    if int(wanted) not in numbers:
        raise UnknownJob(
            f"process {recording.name} has no checkpoint {wanted}",
            f"it has {', '.join(map(str, numbers)) or 'none'}",
        )
    return [int(wanted)]


def _replay_from(recording: RankRecording, start: int | None, patience_s: int) -> dict[str, Any]:
    """Replays from START, or from the beginning.

    If the beginning's image cannot be used, replays from the first image that can be.
    """
    if start is not None:
        return _replay(recording, start, patience_s)
    missing = recording.no_beginning
    lost = missing.message if isinstance(missing, DamagedRecording) else None
    begins = recording.first_event
    result = _replay(recording, None, patience_s)
    for image in recording.images[1:]:
        if not is_of_image(str(result.get("cause"))):
            break
        lost = lost or str(result["cause"])
        begins = image.event
        result = _replay(recording, image.number, patience_s)
    if result["ok"] and result["events"] and lost is not None:
        result["lost"] = f"the events before {begins} are lost: {lost}"
    return result


def _replay(recording: RankRecording, start: int | None, patience_s: int) -> dict[str, Any]:
    """Runs rdb-exec --replay, which answers with one JSON line; other output is a failure."""
    if recording.is_empty:
        return {"ok": True, "events": 0, "hashes": 0, "hash": None}
    line = [
        str(rdb_exec_path()),
        "--replay",
        str(recording.path),
        "--files",
        str(recording.files_dir),
        "--verify",
        "--patience",
        str(patience_s),
    ]
    if start is not None:
        line += ["--checkpoint", str(start)]
    done = subprocess.run(
        line,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=for_rdb_exec(os.environ),
    )
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        if not isinstance(answer, dict) or "ok" not in answer:
            raise ValueError(done.stdout)
    except (ValueError, IndexError):
        said = cause(done.stderr or done.stdout) or "it printed no reason"
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit {done.returncode}"
        return {"ok": False, "what": f"the replica ended ({how}): {said}", "cause": said}
    if done.returncode != 0:
        answer["ok"] = False
        answer.setdefault("what", f"exit {done.returncode}")
    if isinstance(answer.get("events"), int):
        answer["events"] += 1  # the answer has the last event's number, and numbers begin with 0
    if not answer["ok"] and "event" in answer:
        answer["doing"] = _doing(recording, answer)
    return answer


# interposer/replay/replay.c
_ANOTHER_CALL = re.compile(r"event \d+: recorded .*, replayed ")


def _doing(recording: RankRecording, answer: dict[str, Any]) -> str:
    """What the program was doing at the event of a divergence: its call, and the caller."""
    event = answer.get("event")
    try:
        text = recording.describe(event) if isinstance(event, int) else "nothing recorded"
    except RdbError:  # the recording ended before it
        text = "after the last event recorded"
    caller = answer.get("caller") or answer.get("pc")
    if not isinstance(caller, dict):
        return text
    key, offset = str(caller["key"]), int(caller["offset"])
    paths = [path for path, stored in recording.files.items() if stored == key]
    name = Path(paths[0]).name if paths else key
    # A return address is after the call.
    place = place_name(recording.files_dir / key, name, offset - 1)
    if _ANOTHER_CALL.search(str(answer.get("what", ""))):
        # The log lacks the recorded call's place, and the replay did not reach it.
        return f"{text}; the replay calls something else in {place}"
    return f"{text}, called in {place}"


def _say(result: dict[str, Any], times: int) -> None:
    turn = f", turn {result['turn']}" if times > 1 else ""
    if result["ok"]:
        if result["hash"] is None:
            memory = "it ended before its first event"
        elif result["hashes"]:
            agree = "1 hash agrees" if result["hashes"] == 1 else f"{result['hashes']} hashes agree"
            memory = f"{agree}, memory {result['hash']}"
        else:
            memory = "every call agrees; no memory hash was recorded (rdb run --hash-every)"
        print(f"rank {result['process']}{turn}: {result['events']} events, {memory}", flush=True)
        if "lost" in result:
            print(f"rdb: rank {result['process']}{turn}: {result['lost']}", file=sys.stderr)
    else:
        print(
            f"rdb: rank {result['process']}{turn}: replay failed: {_difference(result)}",
            file=sys.stderr,
        )


def _difference(result: dict[str, Any]) -> str:
    """The reason, the first page that differs, and what the program was doing."""
    text = str(result.get("what", "?"))
    if "page" in result:
        count = int(result["pages"])
        more = f", the first of {count} pages that differ" if count > 1 else ""
        text += f"; page {result['page']} differs ({result['mapping']}{more})"
    if "doing" in result:
        text += f"; event {result['event']} is {result['doing']}"
    return text
