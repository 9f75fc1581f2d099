"""Timeline: one rank's recording as something to stand in and to move along, both ways.

The process behind it changes all the time; what stays is the position.  Going back by single
instructions is answered from a trace with no process at all: the live replica is made again only
when somebody asks for memory or for all registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rdb.errors import Diverged, RdbError
from rdb.recording.threads import Schedule
from rdb.replay.agent import FOREVER, AgentClient, Gpr, Map, Regs, Stop, StopReason, Thread
from rdb.replay.replica import Replica, Source
from rdb.timeline import scan, threads
from rdb.timeline.backlog import Backlog
from rdb.timeline.before import Trace, trace_before
from rdb.timeline.branches import BranchPoint, Root, unanswered
from rdb.timeline.images import Images
from rdb.timeline.past import Past
from rdb.timeline.points import Points
from rdb.timeline.position import Arrive, Hit, Position, Steps, ToEnd, WatchHit
from rdb.timeline.recent import can_tell
from rdb.timeline.stopped import Interrupted, Stopped, Strayed
from rdb.timeline.travel import Travel
from rdb.timeline.walker import ENDED, Control, ReplicaLike, Walker

_READ_MAX = 65536
_PROT_WRITE, _PROT_EXEC = 2, 4
_LAST_CHANGE_ID = 1
_MOVES_MAX = 48  # a longer way since the last event is worth its canonical name
_PREPARE_S = 2.0  # of running ahead of need, at most
_SIGNALLED = 2  # enum log_end


class Recorded(Source, Protocol):
    """What a timeline needs of a recording (rdb.recording.RankRecording has it)."""

    @property
    def schedule(self) -> Schedule: ...
    def refresh(self) -> None: ...
    def grown(self) -> bool: ...


def _images_of(recording: Source | None) -> Images | None:
    if recording is None:
        return None
    return Images(recording.images, lambda number: Replica.start(recording, number))


class Timeline:
    def __init__(
        self,
        recording: Recorded | None,
        replica: ReplicaLike | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        first: ReplicaLike | None = replica
        if first is None:
            if recording is None:
                raise ValueError("a recording or a replica")
            first = Replica.start(recording)
        try:
            self.hello = first.agent.hello()
            gpr = first.agent.get_regs().gpr
        except BaseException:
            first.close()
            raise
        self.recording = recording
        if schedule is None:
            schedule = Schedule() if recording is None else recording.schedule
        self.schedule = schedule
        self.points = Points()
        self.control = Control()
        start = Position(self.hello.event)
        self.travel = Travel(
            Walker(first, start, gpr, self.control),
            self.control,
            self.hello.last_event,
            schedule=schedule,
            images=_images_of(recording),
        )
        self._here = start
        self._gpr = gpr
        self._live: Walker | None = None
        self._armed = -1  # the version of `points` that the live replica has
        self._past = Past()
        self._backlog: Backlog | None = None
        self._branch_moved: bool | None = None  # None: not in a branch
        self._root = Root(0, gpr)  # of the newest branch
        self._branches = 0  # so many were opened
        self._text_maps: list[Map] = []

    def close(self) -> None:
        """Ends all processes behind this timeline."""
        self._drop_live()
        self._drop_backlog()
        self.travel.close()

    def renew(self) -> None:
        """Takes in what has been recorded since.  One stands where one stood; the end is later."""
        if self.recording is None or not self.recording.grown():
            return
        if self.branch:
            raise RdbError("this is a branch, not the recording", "go back to the recording first")
        here = self.name()  # the end by another name: it is elsewhere afterwards
        self.recording.refresh()
        fresh = Timeline(self.recording)
        self.close()
        self.hello, self.schedule = fresh.hello, fresh.schedule
        self.travel, self.control = fresh.travel, fresh.control
        self._here, self._gpr = fresh._here, fresh._gpr
        self._past.clear()
        self._armed = -1
        self._text_maps = []
        self.seek(here)

    def __enter__(self) -> Timeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Where we are.

    @property
    def position(self) -> Position:
        """Exact and free of cost.  In a branch: where the branch left the recording."""
        return self._here

    def name(self) -> Position:
        """The canonical EVENT or EVENT:PC:N of `position`; may replay one interval."""
        if self.branch:
            return self.travel.name(self._here, self._branch_pc)
        return self.travel.name(self._here, self._gpr.rip)

    @property
    def event(self) -> int:
        """The last event answered."""
        return self._here.event

    @property
    def live_event(self) -> int:
        """The last event answered, in a branch too."""
        return self.event if self._live is None else self._live.live_event

    @property
    def thread(self) -> int:
        """The number of the thread that runs next."""
        return self._gpr.thread

    def threads(self) -> list[Thread]:
        """The threads that there are here."""
        if self._live is None and not self.schedule.threaded:
            return self.travel.origin.agent.threads()
        return self._need_live().agent.threads()

    @property
    def last_event(self) -> int:
        return self.travel.last_event

    @property
    def end_position(self) -> Position:
        """The canonical name of the end."""
        return self.travel.end.position

    @property
    def branch(self) -> bool:
        """Something was changed: what follows is not the recording."""
        return self._branch_moved is not None

    @property
    def at_start(self) -> bool:
        origin = self.travel.origin
        if self.branch or self.event != origin.event or self._gpr != origin.gpr:
            return False
        return self.name() == origin.position

    @property
    def at_end(self) -> bool:
        if self.branch or self.event != self.last_event:
            return False
        if self._here.moves and isinstance(self._here.moves[-1], ToEnd):
            return True
        end = self.travel.end
        return self._gpr == end.gpr and self.name() == end.position

    # Looking and changing.

    @property
    def gpr(self) -> Gpr:
        return self._gpr

    def registers(self, thread: int = 0) -> Regs:
        """Of a thread, or (0) of the one that runs next."""
        return self._need_live().agent.get_regs(self._other(thread))

    def set_registers(self, regs: Regs, thread: int = 0) -> None:
        """Opens a branch, unless nothing changes."""
        live, thread = self._need_live(), self._other(thread)
        if live.agent.get_regs(thread) == regs:
            return
        if thread:
            raise RdbError(
                f"thread {thread} does not run here",
                "registers are changed where their thread runs",
            )
        self._open_branch()
        live.agent.set_regs(regs)
        self._gpr = live.gpr = live.agent.get_regs().gpr

    def _other(self, thread: int) -> int:
        return 0 if thread == self.thread else thread

    def read_memory(self, addr: int, length: int) -> bytes:
        """As many bytes as are readable from `addr` on."""
        agent = self._text_agent(addr, length)
        if agent is None:
            backlog = self._known_memory()
            if backlog is not None:
                return backlog[0].read(backlog[1], addr, length)
            agent = self._need_live().agent
        parts: list[bytes] = []
        while length > 0:
            part = agent.read(addr, min(length, _READ_MAX))
            parts.append(part)
            if len(part) < min(length, _READ_MAX):
                break
            addr += len(part)
            length -= len(part)
        return b"".join(parts)

    def _known_memory(self) -> tuple[Backlog, int] | None:
        """Where memory can be told from what instructions wrote over, while one steps back."""
        if self._live is not None or self._backlog is None or self.branch:
            return None
        index = self._backlog.index(self._here)
        if index is None and self._past and self.schedule.plain:
            self._trace_here()  # nobody knows what one of the instructions behind wrote to
            index = self._backlog.index(self._here) if self._backlog else None
        return None if index is None or self._backlog is None else (self._backlog, index)

    def write_memory(self, addr: int, data: bytes) -> None:
        """Opens a branch, unless nothing changes."""
        live = self._need_live()
        if self.read_memory(addr, len(data)) == data:
            return
        self._open_branch()
        for at in range(0, len(data), _READ_MAX):
            live.agent.write(addr + at, data[at : at + _READ_MAX])

    def maps(self) -> list[Map]:
        return self._need_live().agent.maps()

    def asked(self) -> tuple[int, int, tuple[int, ...]] | None:
        """Kind, number and arguments of what the program asks for at the end of the recording."""
        if self.branch or self.event != self.last_event:
            return None
        copy = self._need_live().agent.fork()
        try:
            return copy.asked() if copy.run().reason is StopReason.END else None
        finally:
            copy.close()

    def hash(self) -> int:
        """Of all memory and registers of the program, as recording computed it."""
        return self._need_live().agent.hash()

    def _text_agent(self, addr: int, length: int) -> AgentClient | None:
        """Program text does not change: any replica that has it will do."""
        if self._live is not None or self.branch:
            return None
        if not self._text_maps:
            self._text_maps = [
                one
                for one in self.travel.origin.agent.maps()
                if one.prot & _PROT_EXEC and not one.prot & _PROT_WRITE
            ]
        if any(one.start <= addr and addr + length <= one.end for one in self._text_maps):
            return self.travel.origin.agent
        return None

    # Breakpoints and watchpoints.

    def set_breakpoint(self, id_: int, addr: int, cond: bytes = b"") -> None:
        self.points.set_breakpoint(id_, addr, cond)

    def clear_breakpoint(self, id_: int) -> None:
        self.points.clear_breakpoint(id_)

    def set_watchpoint(self, id_: int, addr: int, length: int, kind: int = 0) -> bool:
        """True: the processor watches.  False: its pages are protected: slower, as exact."""
        self.points.set_watchpoint(id_, addr, length, kind)
        self._arm(self._need_live())
        return id_ not in self.points.slow

    def clear_watchpoint(self, id_: int) -> None:
        self.points.clear_watchpoint(id_)

    def exchange_points(self, points: Points) -> Points:
        """Others take the place of all breakpoints and watchpoints; gives those that were."""
        before, self.points = self.points, points
        self._armed = -1
        return before

    # Motion.

    def interrupt(self) -> None:
        """From a signal handler or another thread: ends the motion under way, back to its start."""
        self.control.interrupt()

    def step(
        self, forward: bool = True, count: int = 1, thread: int | None = None, alone: bool = False
    ) -> Stopped:
        """So many instructions; a system call or an MPI call is one.

        Of the one thread, if it is named, else of whichever runs.  `alone`: a call of that thread
        that lets others go on is not waited for.
        """
        one = self._step_forward if forward else self._step_back
        if thread is not None and (thread != self.thread or not self.schedule.plain):
            of = thread
            if forward:
                one = lambda: threads.step_forward(self, of, alone)  # noqa: E731
            else:
                one = lambda: threads.step_back(self, of)  # noqa: E731
        return self._motion(lambda: self._repeat(one, count))

    def cont(self, forward: bool = True) -> Stopped:
        """To the next stop, or to the last one before here."""
        return self._motion(self._cont_forward if forward else self._cont_back)

    def seek(self, target: Position) -> Stopped:
        return self._motion(lambda: self._seek(target))

    def goto_start(self) -> Stopped:
        return self.seek(self.travel.origin.position)

    def goto_end(self) -> Stopped:
        return self._motion(self._goto_end)

    def last_change(self, addr: int, length: int) -> Position | None:
        """The position just before the last change of these bytes; one does not move."""
        points = Points()
        points.set_watchpoint(_LAST_CHANGE_ID, addr, length, 0)
        self.control.begin()
        found = scan.last_hit(self.travel, points, self._here, self.recorded_gpr)
        return None if found is None else found.position

    def prepare(self) -> None:
        """Ahead of need, while nobody asks for anything: what going back from here will look at.

        Nothing that can be seen changes.  `interrupt` ends it; one that came too late for that must
        be forgotten (`begin`).
        """
        if self.branch:
            return
        self.begin()
        try:
            self.travel.refresh()
            with self.travel.unheard():
                self.control.within(_PREPARE_S, self._prepare)
        except (Interrupted, RdbError):
            return  # what could not be prepared is done, or told, when it is asked for
        finally:
            self.begin()

    def _prepare(self) -> None:
        self._keep_here()
        if not self._past and self.schedule.plain:
            self._trace_here()

    def begin(self) -> None:
        """An interrupt from before is no longer heard."""
        self.control.begin()

    def _motion(self, motion: Callable[[], Stopped]) -> Stopped:
        """Runs a motion; if it is interrupted or fails one stands where one stood."""
        self.control.begin()
        self.travel.here_s = self._live.at_s if self._live else self.travel.here_s
        self.travel.refresh()
        start = (self._here, self._gpr)
        try:
            stopped = motion()
        except Interrupted as interrupted:
            if self._live is not None and self.branch and interrupted.stop is not None:
                # A branch has no way back to where it was, so it stays where it is.
                self._gpr = self._live.gpr = interrupted.stop.gpr
                self._branch_moved = True
            else:
                self._back_to(*start)
            return Stopped("interrupt")
        except Strayed as error:
            if self.branch and self._live is not None:
                self._gpr = self._live.gpr = error.stop.gpr
                self._live.live_event = error.stop.event
                self._branch_moved = True
                return Stopped("diverged", text=unanswered(error, error.stop))
            self._back_to(*start)
            raise
        except RdbError:
            self._back_to(*start)
            raise
        if len(self._here.moves) > _MOVES_MAX and not self.branch:
            self._here = self.name()
            self._past.clear()
        return stopped

    def _back_to(self, here: Position, gpr: Gpr) -> None:
        if self.branch:
            # A branch that was on the move cannot be had again: its root is what is left of it.
            self._leave_branch()
        else:
            self._drop_live()
            if here != self._here:
                self._past.clear()
            self._here, self._gpr = here, gpr

    def _repeat(self, one: Callable[[], Stopped], count: int) -> Stopped:
        stopped = Stopped("step")
        for _ in range(count):
            stopped = one()
            if stopped.reason != "step":
                break
        return stopped

    # Forward.

    def _step_forward(self) -> Stopped:
        live = self._need_live()
        self._arm(live)
        came_from = (self._here, 0, self._gpr)
        stop = live.step(1, blind=False)
        if self.branch and stop.steps == 0 and stop.reason is StopReason.END:
            self._not_asked(live)
            return self._ended(stop, moved=True)
        answered = stop.event != came_from[0].event
        if answered:
            self._commit_live(live, Position(stop.event))
        elif stop.steps == 0:
            if not self.branch:
                self._drop_live()  # it is behind the instruction's first half
            return self._ended(stop, moved=True)
        else:
            self._commit_live(live, self._here.then(Steps(1)))
        if not self.branch and not (answered and self._none_ran(stop.event)):
            self._past.append(came_from)
        if stop.reason is StopReason.WATCH:
            return self._watch_stop(stop)
        if stop.reason in ENDED:
            return self._ended(stop, moved=True)
        return Stopped("step")

    def _not_asked(self, live: Walker) -> None:
        """A system call without an answer was not made: what its instruction overwrites is back."""
        registers = live.agent.get_regs()
        before = self._gpr
        registers.gpr = registers.gpr._replace(rcx=before.rcx, r11=before.r11)
        live.agent.set_regs(registers)
        self._gpr = live.gpr = live.agent.get_regs().gpr

    def _none_ran(self, event: int) -> bool:
        """A thread was stopped or goes on, in this step to an event: that is no instruction."""
        schedule = self.schedule
        return event > 0 and (schedule.preempted(event) or schedule.idle(event - 1))

    def _cont_forward(self) -> Stopped:
        return self._run()

    def _run(self, until_event: int = FOREVER, thread: int = 0) -> Stopped:
        live = self._need_live()
        if not self.branch:
            self.travel.keep_if_worth(live)
        self._arm(live)
        stop = live.run(until_event=until_event, thread=thread)
        self._past.clear()
        same = stop.event == self._here.event
        base = self._here if same else Position(stop.event)
        match stop.reason:
            case StopReason.TARGET:
                self._commit_live(live, base)
                return Stopped("step")
            case StopReason.BREAK:
                pc, n = stop.gpr.rip, stop.hits
                self._commit_live(live, base.then(Hit(pc, n) if same else Arrive(pc, n)))
                return Stopped("breakpoint", id=stop.id, addr=pc)
            case StopReason.WATCH:
                watch = self.points.watchpoints[stop.id]
                hit = WatchHit(watch.addr, watch.length, watch.kind, 1)
                self._commit_live(live, Position(stop.event) if stop.by_event else base.then(hit))
                return self._watch_stop(stop)
            case StopReason.END | StopReason.FAULT:
                return self._run_to_end(live, stop)
        raise RdbError(f"the replica stopped for an unexpected reason: {stop.reason!r}")

    def _run_to_end(self, live: Walker, stop: Stop) -> Stopped:
        if self.branch:
            self._commit_live(live, self._here)
            return self._ended(stop, moved=True)
        if stop.event != self.last_event:
            raise Diverged(f"the replay ended after event {stop.event}, not {self.last_event}")
        moved = not self.at_end
        self._drop_live()
        self._here, self._gpr = self.travel.end.position, self.travel.end.gpr
        return self._ended(stop, moved)

    def _watch_stop(self, stop: Stop) -> Stopped:
        return Stopped("watchpoint", id=stop.id, addr=stop.addr, by_event=bool(stop.by_event))

    def _ended(self, stop: Stop, moved: bool) -> Stopped:
        if stop.reason is StopReason.FAULT and moved:
            return Stopped("signal", addr=stop.addr, signal=stop.signal)
        return Stopped("end", signal=stop.signal, text=self._how_it_ends(stop))

    def _how_it_ends(self, stop: Stop) -> str:
        kind, value = stop.end_kind, stop.end_value
        if stop.reason is StopReason.FAULT:
            kind, value = _SIGNALLED, stop.signal
        texts = {
            0: "the recording has no more (the rank was killed, or still runs)",
            1: f"exits with code {value}",
            _SIGNALLED: f"ends by signal {value}",
            3: "the recording stops at a call that rdb does not support",
            4: "the recording stops: the disk was full",
            5: "replaced by execve",
        }
        return texts.get(kind, f"end {kind}")

    # Backward, and to anywhere.

    def _step_back(self) -> Stopped:
        if self._left_branch():
            return Stopped("root", text="back where the branch left the recording")
        if not self._past:
            self._trace_here()
        if not self._past:
            return Stopped("start")
        return self._step_back_over()

    def _trace_here(self) -> None:
        self._past.clear()
        self._drop_backlog()
        trace = trace_before(self.travel, self._here, self._gpr, backlog=True)
        self._remember(trace)
        self._backlog = trace.backlog if trace else None
        if self._backlog is not None:
            self._backlog.end = self._here

    def _remember(self, trace: Trace | None) -> None:
        if trace is not None:
            self._past.extend(trace)

    def _step_back_over(self) -> Stopped:
        """To before the newest instruction that is remembered."""
        base, index, gpr = self._past.last
        before = base.then(Steps(index)) if index else base
        hit = self._watch_hit_after(before)
        self._past.pop()
        self._drop_live()
        self._here, self._gpr = before, gpr
        return hit or Stopped("step")

    def _watch_hit_after(self, before: Position) -> Stopped | None:
        """Does the instruction at `before` hit a watchpoint?"""
        if not self.points.watchpoints:
            return None
        walker = self.travel.to(before)
        try:
            self.points.arm_watchpoints(walker.agent)
            stop = walker.step(1, blind=False)
        finally:
            walker.close()
        return self._watch_stop(stop) if stop.reason is StopReason.WATCH else None

    def _cont_back(self) -> Stopped:
        if self._left_branch():
            return Stopped("root", text="back where the branch left the recording")
        before: tuple[Position, Gpr] | None = None
        if self._past_tells():
            recent = self._recent_hit()
            if recent is not None:
                return recent
            before = self._past.oldest()
        self._keep_here()
        found = scan.last_hit(self.travel, self.points, *(before or (self._here, self._gpr)))
        if found is None:
            self._seek(self.travel.origin.position)
            return Stopped("start")
        return self._arrive_at(found)

    def _past_tells(self) -> bool:
        """Do registers alone say which of the instructions behind were hits?"""
        return bool(
            self.schedule.plain
            and not self.points.watchpoints
            and can_tell(self.points.breakpoints.values())
        )

    def _recent_hit(self) -> Stopped | None:
        """To the last hit, if it is among the instructions that are remembered."""
        found = self._past.back_to_hit(self.points)
        if found is None:
            return None
        here, gpr, id_ = found
        self._drop_live()
        self._here, self._gpr = here, gpr
        return Stopped("breakpoint", id=id_, addr=gpr.rip)

    def _arrive_at(self, found: scan.Found) -> Stopped:
        self._past.clear()
        self._drop_live()
        self._here, self._gpr, self._live = found.position, found.gpr, found.walker
        if not found.watch:
            return Stopped("breakpoint", id=found.id, addr=found.gpr.rip)
        watch = self.points.watchpoints[found.id]
        return Stopped(
            "watchpoint", id=found.id, addr=watch.addr, thread=found.thread, by_event=found.by_event
        )

    def _keep_here(self) -> None:
        """So that coming back is cheap, and snapshots lie between here and far away."""
        if self._live is not None:
            self.travel.keep_if_worth(self._live)

    def _seek(self, target: Position) -> Stopped:
        if target.moves and isinstance(target.moves[-1], ToEnd):
            target = self.travel.end.position
        walker = self.travel.to(target)
        self._arrive(walker, target)
        return Stopped("seek")

    def _goto_end(self) -> Stopped:
        self._seek(self.travel.end.position)
        end = self.travel.end
        text = self._how_it_ends(end.stop)
        if not end.exact:
            text += f", somewhere after event {end.position.event}: this is where that was answered"
        return Stopped("end", text=text)

    def _arrive(self, walker: Walker, position: Position) -> None:
        self._branch_moved = None
        self._drop_live()
        self._past.clear()
        self._live, self._here, self._gpr = walker, position, walker.gpr

    # The live replica.

    def _need_live(self) -> Walker:
        if self._live is None:
            self._live = self.travel.to(self._here)
            self._armed = -1
            if self._live.gpr != self._gpr:
                self._drop_live()
                raise Diverged(f"position {self._here} has other registers than before")
        return self._live

    def _drop_live(self) -> None:
        if self._live is not None:
            self.travel.here_s = self._live.at_s
            self._live.close()
        self._live = None
        self._armed = -1

    def _drop_backlog(self) -> None:
        if self._backlog is not None:
            self._backlog.close()
        self._backlog = None

    def _arm(self, live: Walker) -> None:
        if self._armed != self.points.version:
            self.points.arm(live.agent)
            self._armed = self.points.version

    def _commit_live(self, live: Walker, position: Position) -> None:
        """The live replica has moved to `position`."""
        self._gpr = live.gpr
        if self.branch:
            self._branch_moved = True
        else:
            self._here = live.position = position

    # Branches.

    def _open_branch(self) -> None:
        if not self.branch:
            self._branch_moved = False
            self._branches += 1
            self._root = Root(self._branches, self._gpr)

    @property
    def branch_number(self) -> int:
        """Branches are counted from 1; 0: one stands in the recording."""
        return self._root.number if self.branch else 0

    def keep_branch(self) -> BranchPoint:
        """The present state of the branch, for `enter_branch`; the caller's to close."""
        walker = self._need_live().fork()
        root = self._root
        return BranchPoint(root.number, self._here, root.gpr, bool(self._branch_moved), walker)

    def enter_branch(self, point: BranchPoint) -> Stopped:
        """Into a branch again, at a state that was kept."""
        walker = point.walker.fork()
        self._arrive(walker, point.root)
        self._branch_moved = point.moved
        self._root = Root(point.number, point.root_gpr)
        return Stopped("seek")

    @property
    def _branch_pc(self) -> int:
        return self._root.gpr.rip

    @property
    def recorded_gpr(self) -> Gpr:
        """The registers at `position`, whatever a branch made of them."""
        return self._root.gpr if self.branch else self._gpr

    def _leave_branch(self) -> None:
        self._drop_live()
        self._gpr = self._root.gpr
        self._branch_moved = None

    def _left_branch(self) -> bool:
        """Going back leaves a branch: to its root, if it has moved from there."""
        moved = self._branch_moved
        if moved is not None:
            self._leave_branch()
        return bool(moved)
