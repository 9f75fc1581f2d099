"""Single instructions of one thread, while the others run in between.

All threads together make one order of instructions, and only that can be run and replayed.  To step
a thread is to go to the next (or the last) instruction of it; breakpoints and watchpoints that the
other threads meet on the way stop there.
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
    """One instruction of the thread.  A call that waits has been answered afterwards.

    `alone`: it stays in that call, unanswered, rather than let the others go on.
    """
    before = _pc(timeline, thread)
    if timeline.thread != thread:
        stopped = _until_it_runs(timeline, thread)
        if stopped.reason != "step" or timeline.gpr.rip != before:
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
        if timeline.gpr.rip != before:
            return stopped
        # It was stopped before the instruction and goes on now: that was no step of it.


def _breakpoint_here(timeline: Timeline) -> Stopped | None:
    """Has the thread that goes on come to a breakpoint by what it was answered?"""
    if timeline.schedule.idle(timeline.live_event):
        return None
    id_ = timeline.points.standing_at(timeline._need_live())
    return None if id_ is None else Stopped("breakpoint", id=id_, addr=timeline.gpr.rip)


def _until_it_runs(timeline: Timeline, thread: int) -> Stopped:
    if timeline.schedule.next_run(thread, timeline.live_event) is None:
        return Stopped("gone", text=f"thread {thread} does not run again")
    return timeline._run(thread=thread, until_event=timeline.live_event)


def step_back(timeline: Timeline, thread: int) -> Stopped:
    """To before the last instruction of the thread."""
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
            # It stands before its call as long as that is not answered.
            waits = False
            base, index, gpr = past.pop()
            if not past and base.moves:
                call = base.then(Steps(index)) if index else base
                timeline._remember(trace_before(travel, call, gpr))
        # What it did in an interval before: others may have met something since.
        if past and past.last[2].thread == thread and past.last[0].event == event:
            return timeline._step_back_over()
        past.clear()
        event = travel.schedule.last_run(thread, event - 1)
    return Stopped("start", text=f"thread {thread} starts here", thread=thread)


def _pc(timeline: Timeline, thread: int) -> int | None:
    """Where it stands; None if it has not started yet, or has ended."""
    if timeline.thread == thread:
        return timeline.gpr.rip
    return next((one.pc for one in timeline.threads() if one.number == thread), None)


def _met_by_others(
    timeline: Timeline, since: Position, here: Position, thread: int
) -> scan.Found | None:
    """The last hit in between, where the thread makes no instruction: it may go on and be stopped
    again, at a breakpoint where it stands all the time."""
    gpr = timeline.gpr
    while since != here:
        found = scan.last_hit_since(timeline.travel, timeline.points, since, here, gpr)
        if found is None or found.watch or found.gpr.thread != thread:
            return found
        if found.walker is not None:
            found.walker.close()
        here, gpr = found.position, found.gpr
    return None
