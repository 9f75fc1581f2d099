"""The last hit before a position: reverse-continue, reverse watch, the last write.

Intervals between snapshots are run forward, the nearest one first; breakpoints and watchpoints only
remember their last hit, and then the timeline goes there.  Hits cost time.  If there are many, the
run is given up; then the last event's interval is searched, then more and more events before it at
once.  Long intervals run in parallel, one for each processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import NamedTuple

from rdb.errors import Diverged
from rdb.recording.log.threads import NOBODY
from rdb.replay.agent import Gpr, Stop, StopReason
from rdb.replay.protocol import RAISED_ID
from rdb.timeline.before import normal, trace_before
from rdb.timeline.parallel import SideBySide, side_by_side
from rdb.timeline.points import Points
from rdb.timeline.position import Hit, Position, Raised, WatchHit
from rdb.timeline.travel import COUNT_ID, Goal, Travel
from rdb.timeline.walker import FAULTS, Walker
from rdb.undoing import on_failure

_CHUNK_S = 0.002  # running time
_FORK_PART = 0.5  # share of the time of a fork
_WORK = 1 << 15  # limit of one run (agent.h, AGENT_RUN_LIMIT): some 10 ms
_WORK_S = 0.010
_NEAR = 64  # events that are searched in pieces although no hit is known
_FORKS = 4  # a run may take as long as so many forks: the other way costs several
_LONG_S = 0.1  # running time of an interval that is worth a processor of its own
_MANY = 16  # hits; each costs a stop


class _Dense(Exception):
    """A run met too many stops and was given up."""

    def __init__(self, hits: bool) -> None:
        super().__init__()
        self.hits = hits  # some of them were hits, so there is a last hit


class Found(NamedTuple):
    """The position of a hit: at a breakpoint, or before the access that hit a watchpoint."""

    position: Position
    gpr: Gpr
    id: int
    watch: bool
    signal: int = 0  # before the program handles a fault
    by_event: bool = False
    thread: int = 0  # thread of the event, if another thread ran before it
    walker: Walker | None = None  # at the position; the caller owns it


def last_hit(
    travel: Travel, points: Points, here: Position, gpr: Gpr, since: Position | None = None
) -> Found | None:
    """The last hit strictly before `here`; None: there is none in the recording, or since the
    answer `since`."""
    if not points:
        return None
    target, target_gpr = here, gpr
    rest = here.after(travel.nearest(here, strictly=True).position)
    if rest is None or len(rest) > 1:
        target = travel.name(here, gpr.pc)  # named once, instead of for each interval
    target = normal(travel, target, gpr)  # else the target's own event would count as before it
    for pieces in _batches(travel, _intervals(travel, target, target_gpr, since)):
        if len(pieces) == 1:
            one = pieces[0]
            with closing(travel.again(one.start)) as start:
                found = _between(travel, points, start, one.target, one.gpr)
        else:
            found = _side_by_side(travel, points, pieces)
        if found is not None:
            return found
    return None


class _Interval(NamedTuple):
    """The part from a snapshot to the search's target, or to the start of the next interval."""

    start: Walker
    target: Position
    gpr: Gpr  # at the target
    long: bool


def _intervals(
    travel: Travel, target: Position, gpr: Gpr, since: Position | None
) -> Iterator[_Interval]:
    """Intervals, the nearest first.  They get longer with their distance: each costs a fork."""
    target_s = travel.here_s
    chunk_s = max(_CHUNK_S, travel.control.fork_s * _FORK_PART)
    for start in travel.before(target):
        if since is not None and start.event < since.event:
            if target != since:
                first = travel.to(since)
                first.close()  # `again` makes it anew
                yield _Interval(first, target, gpr, target_s - first.at_s > _LONG_S)
            return
        if start is not travel.origin and target_s - start.at_s < chunk_s:
            continue
        chunk_s *= 2
        yield _Interval(start, target, gpr, target_s - start.at_s > _LONG_S)
        target, gpr, target_s = start.position, start.gpr, start.at_s


def _batches(travel: Travel, intervals: Iterator[_Interval]) -> Iterator[list[_Interval]]:
    batch: list[_Interval] = []
    for one in intervals:
        batch.append(one)
        if not one.long or len(batch) >= travel.jobs:
            yield batch
            batch = []
    if batch:
        yield batch


def _side_by_side(travel: Travel, points: Points, pieces: list[_Interval]) -> Found | None:
    """As `_between` for each of PIECES until there is a hit; all run in parallel."""
    limit = _work(travel)
    with side_by_side(SideBySide[Stop](len(pieces))) as group:
        scans = []
        for one in pieces:
            way = travel.goal(one.start, one.target, one.gpr.pc)
            probe = travel.again(one.start)
            walker = probe.fork()
            run = partial(_run_through, points, probe, walker, way, limit)
            scans.append(
                (one.start.position, one.start.gpr, one, way, group.add(run, probe, walker))
            )
        for position, start_gpr, one, way, task in scans:
            stop = task.result()
            standing = any(at.addr == start_gpr.pc for at in points.breakpoints.values())
            if stop.reason is StopReason.TARGET and not stop.scan.id and not standing:
                _check(stop, position, one.target)
                continue
            found = _looked_at(travel, points, position, one, stop, way)
            if found is not None:
                return found
    return None


def _run_through(points: Points, probe: Walker, walker: Walker, way: Goal, limit: int) -> Stop:
    """Runs to the end; stops with LIMIT if there are many stops and hits among them."""
    points.arm(probe.agent)
    stop = probe.run(*way, scan=True, limit=limit, faults=points.faults)
    if stop.reason is StopReason.LIMIT and not stop.scan.id:
        points.arm(walker.agent)
        stop = walker.run(*way, scan=True, faults=points.faults)
    return stop


def _looked_at(
    travel: Travel, points: Points, position: Position, one: _Interval, stop: Stop, way: Goal
) -> Found | None:
    """The hit that a run from `position` through an interval has found."""
    start = travel.to(position)  # the snapshot may have been dropped meanwhile
    try:
        if stop.reason is StopReason.LIMIT:
            return _by_pieces(travel, points, start, one.target, one.gpr, hits=True)
        found = _scanned(travel, points, start, one.target, one.gpr.pc, stop, way)
        if found is not None or travel.schedule.idle(start.event):
            return found
        id_ = points.standing_at(start)
        return None if id_ is None else Found(start.position, start.gpr, id_, watch=False)
    finally:
        start.close()


def last_hit_since(
    travel: Travel, points: Points, since: Position, here: Position, gpr: Gpr
) -> Found | None:
    """The last hit between `since`, itself included, and `here`."""
    if not points:
        return None
    start = travel.to(since)
    try:
        travel.keep_if_worth(start)
        return _from(travel, points, start, here, gpr)
    finally:
        start.close()


def _between(
    travel: Travel, points: Points, start: Walker, target: Position, gpr: Gpr
) -> Found | None:
    """As `_from`; if there are many stops, the end of the interval is searched first."""
    try:
        return _from(travel, points, start, target, gpr, limit=_work(travel))
    except _Dense as dense:
        hits = dense.hits
    return _by_pieces(travel, points, start, target, gpr, hits)


def _work(travel: Travel) -> int:
    return int(_WORK * max(1.0, _FORKS * travel.control.fork_s / _WORK_S))


def _by_pieces(
    travel: Travel, points: Points, start: Walker, target: Position, gpr: Gpr, hits: bool
) -> Found | None:
    """Searches the interval in pieces, the nearest first.

    HITS: there is a hit somewhere.  If none is known, the far part is searched in one run.
    """
    if not _several(start.position, target):
        trace = trace_before(travel, target, gpr)
        if trace is not None and trace.base.after(start.position):
            piece = trace.base
            found, _ = _from_position(travel, points, piece, target, gpr)
            if found is not None:
                return found
            target, gpr = piece, trace.gprs[0]
        return _from(travel, points, start, target, gpr)
    back = 1
    event = target.event if target.moves else target.event - 1
    while event > start.event and (hits or back <= _NEAR):
        piece = Position(event)
        found, piece_gpr = _from_position(travel, points, piece, target, gpr, _work(travel))
        if found is not None:
            return found
        target, gpr = piece, piece_gpr
        event -= back
        back *= 2
    if not hits:
        return _from(travel, points, start, target, gpr)
    return _between(travel, points, start, target, gpr)


def _several(start: Position, target: Position) -> bool:
    """Are they in different intervals?"""
    return target.event > start.event + (not target.moves)


def _from_position(
    travel: Travel,
    points: Points,
    position: Position,
    target: Position,
    gpr: Gpr,
    limit: int | None = None,
) -> tuple[Found | None, Gpr]:
    """As `_between`, or `_from` without LIMIT; also the registers at `position`."""
    start = travel.to(position)
    start_gpr = start.gpr
    try:
        return _from(travel, points, start, target, gpr, limit, owned=True), start_gpr
    except _Dense as dense:
        hits = dense.hits
    finally:
        start.close()
    start = travel.to(position)
    try:
        return _by_pieces(travel, points, start, target, gpr, hits), start_gpr
    finally:
        start.close()


def _from(
    travel: Travel,
    points: Points,
    start: Walker,
    target: Position,
    gpr: Gpr,
    limit: int | None = None,
    owned: bool = False,
) -> Found | None:
    """The last hit from `start` on, inclusive.  OWNED: `start` may be moved."""
    idle = travel.schedule.idle(start.event)  # no thread arrived there
    id_ = None if idle or not owned else points.standing_at(start)
    start_gpr = start.gpr
    found = _scan(travel, points, start, target, gpr.pc, limit, owned)
    if found is not None:
        return found
    if not owned and not idle:
        id_ = points.standing_at(start)
    return None if id_ is None else Found(start.position, start_gpr, id_, watch=False)


def _scan(
    travel: Travel,
    points: Points,
    start: Walker,
    target: Position,
    pc: int,
    limit: int | None = None,
    owned: bool = False,
) -> Found | None:
    """The last hit after `start`; for watchpoints up to and including `target`."""
    way = travel.goal(start, target, pc)
    # For watchpoints the start is needed again.
    walker = start if owned and not points.watchpoints else start.fork()
    try:
        points.arm(walker.agent)
        stop = walker.run(*way, scan=True, limit=limit, faults=points.faults)
        if stop.reason is StopReason.LIMIT:
            raise _Dense(bool(stop.scan.id))
    finally:
        if walker is not start:
            walker.close()
    return _scanned(travel, points, start, target, pc, stop, way)


def _check(stop: Stop, start: Position, target: Position) -> None:
    if stop.reason is not StopReason.TARGET or stop.event != target.event:
        raise Diverged(f"the replay did not reach position {target} again from {start}")


def _scanned(
    travel: Travel,
    points: Points,
    start: Walker,
    target: Position,
    pc: int,
    stop: Stop,
    way: Goal,
) -> Found | None:
    """The position of the last hit of a run."""
    _check(stop, start.position, target)
    if stop.scan.id == 0:
        return None
    if stop.scan.id in points.watchpoints:
        if stop.scan.event != start.event and not stop.scan.by_event:
            # The count may include a hit by the event itself, so count again from its answer.
            return _scan_interval(travel, points, stop.scan.event, target, pc)
        return _before_watch_hit(travel, points, start, stop, way)
    if stop.scan.id - RAISED_ID in FAULTS:
        return _at_fault(travel, start, stop)
    return _at_breakpoint(travel, start, stop)


def _scan_interval(
    travel: Travel, points: Points, event: int, target: Position, pc: int
) -> Found | None:
    start = travel.to(Position(event))
    try:
        return _scan(travel, points, start, target, pc)
    finally:
        start.close()


def _at_breakpoint(travel: Travel, start: Walker, stop: Stop) -> Found:
    hit = stop.scan
    if hit.event == start.event:
        position = start.position.then(Hit(hit.pc, hit.hits))
    else:
        position = Position.at(hit.event, hit.pc, hit.hits)
    walker = travel.to(position)
    with on_failure(walker.close):
        travel.keep_if_worth(walker)
    return Found(position, walker.gpr, hit.id, watch=False, walker=walker)


def _at_fault(travel: Travel, start: Walker, stop: Stop) -> Found:
    hit = stop.scan
    position, n = Position(hit.event), hit.hits
    if hit.event == start.event:
        position = start.position
        n -= position.raised  # the run began with it
    position = position.then(Raised(n)) if n else position
    walker = travel.to(position)
    return Found(position, walker.gpr, 0, False, signal=hit.id - RAISED_ID, walker=walker)


def _before_watch_hit(
    travel: Travel, points: Points, start: Walker, stop: Stop, way: Goal
) -> Found:
    hit = stop.scan
    base, hits = start.position, hit.hits
    if not hit.by_event and hits > _MANY:
        base, hits = _closer(points, start, stop, way) or (base, hits)
    if hit.by_event:
        after = Position(hit.event)
    else:
        watch = points.watchpoints[hit.id]
        move = WatchHit(watch.addr, watch.length, watch.kind, hits)
        if hit.id in points.slow and base == start.position:
            after = base.then(_as_arrival(start, move, hit.pc))
        else:
            after = base.then(move)
    position, gpr = _just_before(travel, after)
    thread = travel.schedule.runner(hit.event) if hit.by_event else gpr.thread
    return Found(
        position,
        gpr,
        hit.id,
        watch=True,
        by_event=bool(hit.by_event),
        thread=0 if thread in (gpr.thread, NOBODY) else thread,
    )


def _as_arrival(start: Walker, move: WatchHit, pc: int) -> Hit:
    """The watchpoint hit as an arrival at the pc after the access, which is fast to reach."""
    probe = start.fork()
    try:
        probe.agent.set_break(COUNT_ID, pc, stop=False)
        probe.make(move)
        return Hit(pc, probe.agent.counts(COUNT_ID)[0])
    finally:
        probe.close()


def _just_before(travel: Travel, after: Position) -> tuple[Position, Gpr]:
    if not after.moves and travel.schedule.idle(after.event - 1):
        after = Position(after.event - 1)  # no thread ran in between
        return after, travel.gpr_at(after)
    trace = trace_before(travel, after, travel.gpr_at(after))
    if trace is None:
        raise Diverged(f"the replay found no instruction before position {after}")
    last = len(trace.gprs) - 1
    return trace.position(last), trace.gprs[last]


def _closer(points: Points, start: Walker, stop: Stop, way: Goal) -> tuple[Position, int] | None:
    """A position with few hits left to the last hit, and their number; None: not found.

    Every hit is an arrival at the pc after the accessing instruction, and arrivals can be counted
    in one run.  So the last arrivals at that pc are tried, backwards.
    """
    hit = stop.scan
    if way[0] != start.event:
        way = (start.event + 1, 0, 0)
    probe = start.fork()
    try:
        probe.agent.set_break(1, hit.pc, stop=True)
        last = probe.run(*way, scan=True).scan
    finally:
        probe.close()
    if last.event != start.event:
        return None
    back = 0
    while back < last.hits:
        base = Hit(hit.pc, last.hits - back)
        walker = start.fork()
        try:
            event, pc, n = way
            if n:
                walker.agent.set_break(COUNT_ID, pc, stop=False)
            walker.make(base)
            if n:
                n -= walker.agent.counts(COUNT_ID)[0]
                walker.agent.clear_break(COUNT_ID)
            points.arm_watchpoints(walker.agent)
            found = walker.run(event, pc, n, scan=True).scan
        finally:
            walker.close()
        if (found.id, found.event, found.by_event) == (hit.id, start.event, 0):
            return start.position.then(base), found.hits
        back = 2 * back or 1
    return None
