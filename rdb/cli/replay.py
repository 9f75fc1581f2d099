"""`rdb replay`: each process alone at full speed, its memory compared with the recorded hashes."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rdb.cli.expand import expand_if_needed
from rdb.cli.needed import say_missing, say_unrecorded
from rdb.cli.output import print_json
from rdb.environment import for_rdb_exec
from rdb.errors import DamagedRecording, RdbError, UnknownJob, Usage
from rdb.executor import Processes
from rdb.paths import rdb_exec_path
from rdb.recording import Job, ProcessName, RankRecording, find_process, open_job
from rdb.recording.symbols.places import place_name
from rdb.replay.replica import cause, is_of_image


def replay_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    recordings = _chosen(job, args.rank)
    if not recordings:
        raise RdbError(f"{job.name} has no ranks", "was it recorded at all?", exit_code=4)
    if args.rank is None:
        say_missing(job)
    say_unrecorded(job)
    damaged = {one: why for one in recordings if (why := _damage(one)) is not None}
    if len(damaged) == len(recordings):
        raise damaged[recordings[0]]
    recordings = [one for one in recordings if one not in damaged]
    expand_if_needed(job.without({one.rank for one in damaged}))
    results: list[dict[str, Any]] = []
    for one, error in damaged.items():
        which = {"rank": one.rank, "process": one.name, "turn": 1, "cautions": []}
        results.append({**which, "ok": False, "what": error.message})
        if not args.json:
            _say(results[-1], 1)
    turns = [
        _Turn(one, number, start)
        for one in recordings
        for number, start in enumerate(_starts(one, args.checkpoint) * args.times, 1)
    ]
    answers = Processes("process").map(partial(_of_turn, args.patience), turns)
    first: dict[str, str | None] = {}
    for turn, result in zip(turns, answers, strict=True):
        name, last = turn.recording.name, sum(one.recording is turn.recording for one in turns)
        known = first.get(name) or result.get("hash")
        first[name] = known
        if result["ok"] and result.get("hash") != known:
            result.update(ok=False, what=f"its memory hash differs from the first turn's, {known}")
        results.append(result)
        if not args.json:
            _say(result, last)
            for text in turn.recording.cautions if turn.number == last else ():
                print(f"rdb: rank {name}, {text}", file=sys.stderr)
    if args.json:
        print_json(results)
    return 0 if all(result["ok"] and "lost" not in result for result in results) else 5


class _Turn(NamedTuple):
    """One replay of a process, from START (None: from its beginning)."""

    recording: RankRecording
    number: int
    start: int | None

    def __str__(self) -> str:
        return self.recording.name


def _of_turn(patience_s: int, turn: _Turn) -> dict[str, Any]:
    return {
        "rank": turn.recording.rank,
        "process": turn.recording.name,
        "turn": turn.number,
        "cautions": turn.recording.cautions,
        **({} if turn.start is None else {"checkpoint": turn.start}),
        **_replay_from(turn.recording, turn.start, patience_s),
    }


def _damage(recording: RankRecording) -> DamagedRecording | None:
    """The error that makes its log unusable, with file and offset; None: the log is sound."""
    try:
        recording.check()
    except DamagedRecording as error:
        return error
    return None


def _chosen(job: Job, name: str | None) -> list[RankRecording]:
    """The programs to replay.

    NAME: None (all processes), a process (it and its descendants) or a program of a process.
    """
    if name is None:
        processes = list(job.processes())
    else:
        wanted = ProcessName.parse(name)
        process = find_process(job.process(wanted.rank), wanted)
        if wanted.program is not None:
            return [process.program(wanted.program)]
        processes = list(process.walk())
    return [recording for process in processes for recording in process.programs]


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
    if (
        recording.last_event < 0
        and not recording.state.lives
        and recording.name != str(recording.rank)
    ):
        # Nothing was recorded: ld.so rejected the program, or the child was killed at once.
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
