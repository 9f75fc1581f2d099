"""Timeline: a position in one rank's recording, and motions in both directions.

A motion that is interrupted or fails does not change the position.  Motions raise RdbError.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rdb.errors import RdbError
from rdb.replay.agent import Gpr, WatchKind
from rdb.timeline import scan, threads
from rdb.timeline.backward import Backward
from rdb.timeline.branches import unanswered
from rdb.timeline.points import Points
from rdb.timeline.position import Position
from rdb.timeline.stopped import Interrupted, Stopped, Strayed

_LAST_CHANGE_ID = 1
_MOVES_MAX = 48  # a position with more moves is replaced by its canonical name
_PREPARE_S = 2.0  # limit of `prepare`


class Timeline(Backward):
    def __enter__(self) -> Timeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def renew(self) -> None:
        """Takes in what has been recorded since; the position stays.  Raises RdbError in a
        branch."""
        if self.recording is None or not self.recording.grown():
            return
        if self.branch:
            raise RdbError(
                "cannot follow in a branch", "go back to the recording first, with `undo` or `goto`"
            )
        here = self.name()  # canonical: a position relative to the old end would change
        settled = self.recording.settled_event - 1  # replicas have read one record ahead
        self.recording.refresh()
        self.deliveries.renew()
        if self.travel.origin.event < min(settled, self.recording.settled_event):
            self._drop_live()
            self._drop_backlog()
            self._renew(settled)
        else:
            fresh = Timeline(self.recording)
            self.close()
            self.hello, self.schedule = fresh.hello, fresh.schedule
            self.travel, self.control = fresh.travel, fresh.control
            self._here, self._gpr = fresh._here, fresh._gpr
        self._past.clear()
        self._armed = -1
        self._text_maps = []
        told = min(self._told, len(self.lost))  # `lost` begins anew
        self.seek(here)
        self._told = told  # the next motion tells what this one has found

    def interrupt(self) -> None:
        """From a signal handler or another thread: ends the motion under way."""
        self.control.interrupt()

    def step(
        self, forward: bool = True, count: int = 1, thread: int | None = None, alone: bool = False
    ) -> Stopped:
        """Steps COUNT instructions; a system call or an MPI call is one.

        THREAD: steps of this thread; None: of the thread that runs.  ALONE: does not wait for a
        call of that thread that lets others go on.
        """
        one = self._step_forward if forward else self._step_back
        if thread is not None and (thread != self.thread or not self.schedule.plain):
            of = thread
            if forward:
                one = lambda: threads.step_forward(self, of, alone)  # noqa: E731
            else:
                one = lambda: threads.step_back(self, of)  # noqa: E731
        return self._motion(lambda: self._repeat(one, count))

    @property
    def steps_inside(self) -> bool:
        """May `step_inside` and `step_back_inside` be called here?"""
        return self.schedule.plain and not self.branch

    def step_inside(self, first: int, end: int) -> Stopped:
        """Steps at least once, until the program leaves these addresses or meets a stop."""
        return self._motion(lambda: self._step_inside(first, end))

    def step_back_inside(self, first: int, end: int) -> Stopped:
        """Steps back at least once, until the rank is before these addresses or at a breakpoint;
        only if `steps_inside`, and without watchpoints."""
        return self._motion(lambda: self._step_back_inside(first, end))

    def cont(self, forward: bool = True) -> Stopped:
        """Goes to the next stop, or back to the last one."""
        return self._motion(self._cont_forward if forward else self._cont_back)

    def seek(self, target: Position) -> Stopped:
        return self._motion(lambda: self._seek(target))

    def goto_start(self) -> Stopped:
        return self.seek(self.travel.origin.position)

    def goto_end(self) -> Stopped:
        return self._motion(self._goto_end)

    def last_change(self, addr: int, length: int, kind: int = WatchKind.WRITE) -> Position | None:
        """The position just before the last change of these bytes; None: there is none.

        KIND: other than WRITE, accesses count that leave them as they are.  The timeline does not
        move.
        """
        points = Points()
        points.set_watchpoint(_LAST_CHANGE_ID, addr, length, kind)
        self.control.begin()
        found = scan.last_hit(self.travel, points, self._here, self.recorded_gpr)
        return None if found is None else found.position

    def prepare(self) -> None:
        """While the user thinks: traces the instructions before the position, for going back.

        Changes nothing that the user sees.  `interrupt` ends it; call `begin` afterwards to forget
        an interrupt that came too late.
        """
        if self.branch:
            return
        self.begin()
        try:
            self.travel.refresh()
            with self.travel.unheard():
                self.control.within(_PREPARE_S, self._prepare)
        except (Interrupted, RdbError):
            return  # errors are reported when the work is needed
        finally:
            self.begin()

    def _prepare(self) -> None:
        self._keep_here()
        if not self._past and self.schedule.plain:
            self._trace_here()

    def begin(self) -> None:
        """Forgets an earlier interrupt."""
        self.control.begin()

    def _motion(self, motion: Callable[[], Stopped]) -> Stopped:
        """Runs a motion; if it is interrupted or fails, the timeline returns to its position."""
        self.control.begin()
        self._passing, self.signalled = self.signalled, 0
        self.travel.here_s = self._live.at_s if self._live else self.travel.here_s
        self.travel.refresh()
        start = (self._here, self._gpr)
        try:
            stopped = self._with_lost(motion())
            if len(self._here.moves) > _MOVES_MAX and not self.branch:
                self._here = self.name()
                self._past.clear()
        except Interrupted as interrupted:
            if self._live is not None and self.branch and interrupted.stop is not None:
                # A branch cannot return to where it was, so it stays where it is.
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
        return stopped

    def _with_lost(self, stopped: Stopped) -> Stopped:
        """Adds messages about parts of the recording that were found to be lost."""
        new = self.lost[self._told :]
        self._told += len(new)
        said = [stopped.text] if stopped.text else []
        return replace(stopped, text="; ".join([*said, *new])) if new else stopped

    def _back_to(self, here: Position, gpr: Gpr) -> None:
        self.signalled = self._passing
        if self.branch:
            # The state of a branch that moved is gone: only its root is left.
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
