"""`qRdb.*`: the requests of our GDB extension.

A request is `qRdb.NAME[:ARGUMENTS]`, its answer a JSON object in hex.  An operation that takes
longer than 0.5 s answers {"pending": true}: then `qRdb.poll` waits for it, `qRdb.cancel` ends it.
The answer to a failed request is {"error": TEXT, "hint": TEXT or null, "exit_code": N,
"kind": CLASS}.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rdb.errors import RdbError
from rdb.recording import RankRecording
from rdb.recording.symbols.detached import SOURCES, SYMBOLS
from rdb.recording.symbols.named import files_lack
from rdb.replay.agent import WatchKind
from rdb.replay.arrays import ArrayPlan
from rdb.server.asking import asked
from rdb.server.bisecting import Bisecting
from rdb.server.jobs import Job, Worker
from rdb.server.libraries import Libraries
from rdb.server.motion import Motion
from rdb.server.searches import Searches
from rdb.timeline.stopped import Interrupted, Stopped
from rdb.timeline.timeline import Timeline

_PATIENCE_S = 0.5
Answer = dict[str, Any]


class Queries:
    def __init__(self, motion: Motion, recording: RankRecording, worker: Worker) -> None:
        self._motion = motion
        self._timeline: Timeline = motion.timeline
        self._recording = recording
        self._worker = worker
        self._job: Job | None = None
        self._bisecting: Bisecting | None = None
        self._searches = Searches(motion, recording)
        hello, read = self._timeline.hello, self._timeline.read_memory
        self._libraries = Libraries(read, read(hello.auxv_addr, hello.auxv_len))
        self._operations: dict[str, Callable[[str], Answer]] = {
            **self._searches.operations,
            "state": self._state,
            "name": lambda text: {"name": str(self._timeline.name()), **self._state("")},
            "seek": self._seek,
            "renew": self._renew,
            "last-change": self._last_change,
            "entry": self._entry,
            "lines": self._lines,
            "kept": lambda text: {"kept": motion.stop_points.kept()},
            "branch-drop": self._branch_drop,
            "maps": lambda text: {"maps": [list(one) for one in self._timeline.maps()]},
            "info": self._info,
            "describe": self._describe,
            "last-receive": self._last_receive,
            "bisect-start": self._bisect_start,
            "bisect-answer": self._bisect_answer,
            "trouble": self._trouble,
            "bisect-known": lambda text: {
                "known": self._bisecting.known if self._bisecting else ""
            },
            "receive-into": self._receive_into,
            "fold": self._fold,
            "lacks": self._lacks,
            "units": self._units,
            "asked": lambda text: asked(self._timeline, recording),
        }

    def handle(self, body: bytes) -> bytes:
        """The reply to the packet `qRdb.BODY`; empty: no such request."""
        name, _, text = body.decode("utf-8", "replace").partition(":")
        if name == "poll":
            return encode(self._wait(_PATIENCE_S))
        if name == "cancel":
            self._motion.interrupt()
            return encode(self._wait(_PATIENCE_S))
        operation = self._operations.get(name)
        if operation is None:
            return b""
        if self._job is not None:
            return encode(failure(RdbError("rdb's server still works on another request")))
        self._searches.begin()
        self._job = self._worker.start(lambda: operation(text))
        return encode(self._wait(_PATIENCE_S))

    @property
    def busy(self) -> bool:
        return self._job is not None

    def settle(self) -> None:
        """Waits for a request under way: only it may use the timeline."""
        if self._job is not None:
            self._job.wait()

    def stop(self) -> None:
        if self._job is not None:
            self._motion.interrupt()
            self._job.wait()

    def _wait(self, timeout_s: float) -> Answer:
        job = self._job
        if job is None:
            return failure(RdbError("no request is under way"))
        if not job.wait(timeout_s):
            return {"pending": True, **self._searches.progress}
        self._job = None
        try:
            answer: Answer = job.result()
        except Interrupted:
            return failure(RdbError("interrupted", exit_code=130))
        except RdbError as error:
            return failure(error)
        except (ValueError, KeyError, IndexError) as error:
            return failure(RdbError(f"{type(error).__name__}: {error}"))
        return answer

    def _state(self, text: str) -> Answer:
        point = self._motion.stop_point()
        timeline = self._timeline
        return {
            "stop_point": point.number,
            "serial": point.serial,
            "event": timeline.live_event if timeline.branch else timeline.event,
            "branch": timeline.branch,
            "branch_number": timeline.branch_number,
            "at_start": timeline.at_start,
            "at_end": timeline.at_end,
            "end_known": not timeline.at_end or timeline.end_known,
            "lost": timeline.lost,
            "pc": timeline.gpr.pc,
            "thread": timeline.thread,
            "threaded": self._recording.schedule.threaded,
            "position": str(point.position),
            "libraries": self._libraries.fingerprint(point.serial),
        }

    def _seek(self, text: str) -> Answer:
        self._searches.seeking()
        return self._moved(self._motion.seek(text))

    def _renew(self, text: str) -> Answer:
        """Takes in what has been recorded since; the rank does not move."""
        self._motion.renew()
        return self._state("")

    def _branch_drop(self, text: str) -> Answer:
        self._motion.stop_points.drop_branch(int(text))
        return {}

    def _moved(self, stopped: Stopped) -> Answer:
        return {
            "reason": stopped.reason,
            "text": stopped.text,
            "by_event": bool(stopped.by_event),
            **self._state(""),
        }

    def _last_change(self, text: str) -> Answer:
        """ADDRESS,LENGTH: goes to before the last change; `,access`: last read or write."""
        addr, length, *access = text.split(",")
        kind = WatchKind.ACCESS if access else WatchKind.WRITE
        before = str(self._timeline.position)
        stopped = self._motion.last_change(int(addr, 0), int(length, 0), kind)
        if stopped is None:
            return {"found": False, **self._state("")}
        answer = {"found": str(self._timeline.position) != before, **self._moved(stopped)}
        by = self._motion.next_event()
        if by is not None:
            answer["by"] = by
            answer["thread"] = max(self._recording.schedule.runner(by), 1)
            answer["describe"] = self._recording.describe(by)
        return answer

    def _entry(self, text: str) -> Answer:
        """ADDRESS,STACK_POINTER: the call at whose entry the next reverse-finish stops; empty:
        any."""
        if text:
            addr, sp = (int(word, 0) for word in text.split(","))
            self._motion.points.only_entry((addr, sp))
        else:
            self._motion.points.only_entry(None)
        return {}

    def _lines(self, text: str) -> Answer:
        """START,END;...: see Motion.lines; empty: GDB does not step back by lines any more."""
        spans = (one.split(",") for one in text.split(";") if one)
        self._motion.lines = sorted((int(start, 16), int(end, 16)) for start, end in spans)
        return {}

    def _info(self, text: str) -> Answer:
        recording = self._recording
        sources = recording.files_dir.parent / SOURCES  # exists in an unpacked job
        return {
            "sources": str(sources) if sources.is_dir() else None,
            "job": recording.files_dir.parent.name,
            "rank": recording.rank,
            "process": recording.name,
            "first_event": self._timeline.hello.event,
            "last_event": recording.last_event,
            "state": str(recording.state),
            "lost": self._timeline.lost,
            "meta": {k: v for k, v in recording.meta.items() if isinstance(v, (str, int, list))},
        }

    def _describe(self, text: str) -> Answer:
        """EVENT, or EVENT,TIMES with the number of repetitions to show."""
        event, _, times = text.partition(",")
        return {"text": self._recording.describe(int(event), int(times) if times else None)}

    def _last_receive(self, text: str) -> Answer:
        before = int(text) if text else self._timeline.event + 1
        return {"receive": receive_answer(self._recording.last_receive(before))}

    def _receive_into(self, text: str) -> Answer:
        """EVENT,ADDRESS,LENGTH: the message with which the event wrote these bytes."""
        event, addr, length = (int(word, 0) for word in text.split(","))
        return {"receive": receive_answer(self._recording.receive_into(event, addr, length))}

    def _fold(self, text: str) -> Answer:
        """{"fold": N, "extents": [...], "operands": [...], "steps": [...]} in hex."""
        plan = ArrayPlan.of(json.loads(bytes.fromhex(text)))
        return self._timeline.fold(plan)._asdict()

    def _lacks(self, text: str) -> Answer:
        """{"name", "but": [beginning of a path, ...], "with": path}: does no mapped binary define
        that name?  Binaries whose path begins with one of "but" are ignored, except "with"."""
        return {"lacks": files_lack(*self._binaries(text))}

    def _units(self, text: str) -> Answer:
        """As `lacks`: the source files in which a variable may have that name."""
        from rdb.recording.symbols.units import units_with  # late import: few sessions ask

        return {"units": units_with(*self._binaries(text))}

    def _binaries(self, text: str) -> tuple[dict[str, Path | None], Path, str]:
        asked, recording = json.loads(bytes.fromhex(text)), self._recording
        but = tuple(asked["but"])
        paths = (one for one in recording.files if one == asked["with"] or not one.startswith(but))
        stored = {one: recording.store_path(one) for one in paths}
        return stored, recording.files_dir.parent / SYMBOLS, asked["name"]

    def _trouble(self, text: str) -> Answer:
        """Why a request for memory or registers failed since the last call; "": none failed."""
        trouble, self._motion.trouble = self._motion.trouble, None
        return {"text": trouble.message if trouble is not None else ""}

    def _bisect_start(self, text: str) -> Answer:
        """{"last": bool, "low": event or null, "high": ..., "jobs": N or null,
        "alive": [address, ...], "between": [position, position], "defined": event or null} in
        hex."""
        options = json.loads(bytes.fromhex(text))
        self._searches.use_jobs(options.get("jobs"))
        self._bisecting = Bisecting(
            self._motion,
            bool(options.get("last")),
            options.get("low"),
            options.get("high"),
            bool(options.get("events_only")),
            options.get("alive", ()),
            options.get("between", ()),
            options.get("defined"),
        )
        return {**self._bisecting.begin(), **self._state("")}

    def _bisect_answer(self, text: str) -> Answer:
        if self._bisecting is None:
            raise RdbError("no search is under way")
        return {**self._bisecting.answer(text), **self._state("")}


def receive_answer(receive: Any) -> Answer | None:
    """A receive as the log noted it, as JSON."""
    if receive is None:
        return None
    return {name: getattr(receive, name) for name in ("event", "source", "tag", "size_bytes")}


def failure(error: RdbError) -> Answer:
    kind = type(error).__name__
    return {"error": str(error), "hint": error.hint, "exit_code": error.exit_code, "kind": kind}


def encode(answer: Answer) -> bytes:
    return json.dumps(answer).encode("utf-8").hex().encode("ascii")
