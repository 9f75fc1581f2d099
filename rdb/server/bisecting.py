"""The search for the instruction that makes an expression bad, one question at a time.

The timeline chooses positions.  The rank is moved there, and GDB evaluates the expression.  At the
end the rank is just before the instruction that made the expression bad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from rdb.errors import RdbError, Usage
from rdb.server.motion import Motion
from rdb.timeline.asking import Probe, Verdict
from rdb.timeline.bisect import BadAtFirst, Bisect, Result
from rdb.timeline.position import Position

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
        between: Sequence[str] = (),
        defined: int | None = None,
    ) -> None:
        self._motion = motion
        timeline = motion.timeline
        self._ahead = timeline.travel.ahead
        ends = [Position.parse(one) for one in between]
        self._search = Bisect(timeline, last, low, high, events_only, alive, ends, defined)

    @property
    def known(self) -> str:
        return self._search.known

    def begin(self) -> Answer:
        return self._next(self._search.start)

    def answer(self, text: str) -> Answer:
        """TEXT is `good`, `bad` or `undefined:WHY`.  Raises Usage for another verdict, RdbError if
        memory could not be read."""
        verdict, _, why = text.partition(":")
        if verdict not in ("good", "bad", "undefined"):
            raise Usage(f"{verdict!r} is not a verdict", "good, bad or undefined")
        trouble = self._motion.trouble
        if verdict == "undefined" and trouble is not None:
            # A failed request does not mean that the expression has no value.
            raise RdbError(f"the search cannot go on: {trouble.message}", trouble.hint)
        return self._next(lambda: self._search.answer(cast(Verdict, verdict), why))

    def _next(self, step: Callable[[], Probe | Result]) -> Answer:
        try:
            return self._go(step())
        except BadAtFirst as bad:
            self._ahead.prepare(())
            return self._bad_at_first(bad)
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
            **step.looked._asdict(),
            "gap": step.gap,
            "again": step.again,
        }

    def _bad_at_first(self, bad: BadAtFirst) -> Answer:
        """The answer if the expression was good at no position that was examined."""
        return {
            "refused": bad.message,
            "before": None if bad.before is None else str(bad.before),
            "first": str(bad.first or bad.place),
            "bad_at": str(bad.place),
            "until": str(bad.until),
            "edge": bad.edge,
            "good": bad.good,
            "again": bad.again,
            **self._search.looked._asdict(),
        }
