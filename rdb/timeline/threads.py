"""Steps of one thread, while other threads run in between.

The instructions of all threads have one order, and only that order can be replayed.  To step a
thread is to go to its next (or last) instruction; breakpoints and watchpoints that other threads
hit on the way stop the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdb.timeline import scan
from rdb.timeline.before import normal, trace_before
from rdb.timeline.position import Position, Steps
from rdb.timeline.stopped import Stopped

if TYPE_CHECKING:
    from rdb.timeline.timeline import Timeline


def step_forward(timeline: Timeline, thread: int, alone: bool) -> Stopped:
    """Steps one instruction of the thread; a call that waits is answered afterwards.

    ALONE: the thread stays in that call, unanswered, and the others do not go on.
    """
    before = _pc(timeline, thread)
    if timeline.thread != thread:
        stopped = _until_it_runs(timeline, thread)
        if stopped.reason != "step" or timeline.gpr.pc != before:
            return stopped
    while True:
        event = timeline.live_event
        stopped = timeline._step_forward()
        if stopped.reason != "step" or timeline.live_event == event:
            return stopped
        if timeline.thread != thread:
            if alone:
                return Stopped("step", thread=thread)
            met = _breakpoint_here(timeline)
            if met is not None:
                return met
            stopped = _until_it_runs(timeline, thread)
            if stopped.reason != "step":
                return stopped
        if timeline.gpr.pc != before:
            return stopped
        # The thread was preempted before the instruction and goes on now: that is no step.


def _breakpoint_here(timeline: Timeline) -> Stopped | None:
    """Is the thread that goes on at a breakpoint after its answer?"""
    if timeline.schedule.idle(timeline.live_event):
        return None
    id_ = timeline.points.standing_at(timeline._need_live())
    return None if id_ is None else Stopped("breakpoint", id=id_, addr=timeline.gpr.pc)


def _until_it_runs(timeline: Timeline, thread: int) -> Stopped:
    if timeline.schedule.next_run(thread, timeline.live_event) is None:
        return Stopped("gone", text=f"thread {thread} does not run again")
    return timeline._run(thread)


def step_back(timeline: Timeline, thread: int) -> Stopped:
    """Goes to before the last instruction of the thread."""
    if timeline._left_branch():
        return Stopped("root", text="back where the branch left the recording")
    travel, past = timeline.travel, timeline._past
    here = normal(travel, timeline.position, timeline.gpr)
    if timeline.thread == thread:
        if not past and here.moves:
            timeline._remember(trace_before(travel, here, timeline.gpr))
        if past and past.last[2].thread == thread:
            return timeline._step_back_over()
    past.clear()
    event = travel.schedule.last_run(thread, here.event - 1)
    waits = (
        event is not None
        and timeline.thread != thread
        and not travel.schedule.preempted(event + 1)
        and _pc(timeline, thread) is not None
    )
    while event is not None and event >= travel.origin.event:
        handed_over = Position(event + 1)
        found = _met_by_others(timeline, handed_over, here, thread)
        if found is not None:
            return timeline._arrive_at(found)
        timeline._remember(trace_before(travel, handed_over, travel.gpr_at(handed_over)))
        if waits:
            # Until its call is answered the thread is before the call.
            waits = False
            base, index, gpr = past.pop()
            if not past and base.moves:
                call = base.then(Steps(index)) if index else base
                timeline._remember(trace_before(travel, call, gpr))
        # Its instruction may be in an earlier interval: others may have hit something since.
        if past and past.last[2].thread == thread and past.last[0].event == event:
            return timeline._step_back_over()
        past.clear()
        event = travel.schedule.last_run(thread, event - 1)
    return Stopped("start", text=f"thread {thread} starts here", thread=thread)


def _pc(timeline: Timeline, thread: int) -> int | None:
    """The pc of a thread; None: it has not started yet, or has ended."""
    if timeline.thread == thread:
        return timeline.gpr.pc
    return next((one.pc for one in timeline.threads() if one.number == thread), None)


def _met_by_others(
    timeline: Timeline, since: Position, here: Position, thread: int
) -> scan.Found | None:
    """The last hit of another thread between SINCE and HERE, where THREAD makes no instruction.

    Hits of THREAD do not count: it may go on and be preempted again at the same breakpoint.
    """
    gpr = timeline.gpr
    while since != here:
        found = scan.last_hit_since(timeline.travel, timeline.points, since, here, gpr)
        if found is None or found.watch or found.gpr.thread != thread:
            return found
        if found.walker is not None:
            found.walker.close()
        here, gpr = found.position, found.gpr
    return None
