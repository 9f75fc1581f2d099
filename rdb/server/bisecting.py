"""A search for where an expression turns bad, question by question.

The timeline says where to look, GDB at the other end evaluates the expression there: the rank is
brought to each place before the question is asked.  At the end it stands just before the
instruction that made the expression bad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from rdb.errors import RdbError, Usage
from rdb.server.motion import Motion
from rdb.timeline.asking import Probe, Verdict
from rdb.timeline.bisect import Bisect, Result
from rdb.timeline.timeline import Timeline

Answer = dict[str, Any]


class Bisecting:
    def __init__(
        self,
        motion: Motion,
        last: bool,
        low: int | None,
        high: int | None,
        events_only: bool = False,
        alive: Sequence[int] = (),
    ) -> None:
        self._motion = motion
        timeline = cast(Timeline, motion.timeline)
        self._ahead = timeline.travel.ahead
        self._search = Bisect(timeline, last, low, high, events_only, alive)

    @property
    def known(self) -> str:
        return self._search.known

    def begin(self) -> Answer:
        return self._next(self._search.start)

    def answer(self, text: str) -> Answer:
        """good, bad, or undefined:WHY"""
        verdict, _, why = text.partition(":")
        if verdict not in ("good", "bad", "undefined"):
            raise Usage(f"{verdict!r} is not a verdict", "good, bad or undefined")
        trouble = self._motion.trouble
        if verdict == "undefined" and trouble is not None:
            # What could not be asked for is not what has no value: the rank would be left out.
            raise RdbError(f"the search cannot go on: {trouble.message}", trouble.hint)
        return self._next(lambda: self._search.answer(cast(Verdict, verdict), why))

    def _next(self, step: Callable[[], Probe | Result]) -> Answer:
        try:
            return self._go(step())
        except BaseException:
            self._ahead.prepare(())
            raise

    def _go(self, step: Probe | Result) -> Answer:
        target = step.position if isinstance(step, Probe) else step.before
        stopped = self._motion.seek(str(target))
        if stopped.reason == "interrupt":
            raise RdbError("interrupted", exit_code=130)
        self._motion.trouble = None
        self._ahead.prepare(step.soon if isinstance(step, Probe) else ())
        if isinstance(step, Probe):
            return {"ask": step.stage, "progress": step.done, "so_far": self._search.so_far}
        return {
            "done": True,
            "before": str(self._motion.timeline.name()),
            "after_at": str(step.after),
            "probes": step.probes,
            "undefined": step.undefined,
            "why_undefined": step.why_undefined,
            "gap": step.gap,
        }
