"""The position in a recording, the replica that is there (the live replica), branches.

Every motion may replace the live replica.  It is made again only when memory or all registers are
needed.
"""

from __future__ import annotations

from rdb.errors import Diverged
from rdb.recording import RankRecording
from rdb.recording.log.threads import Schedule
from rdb.replay.agent import Gpr, Map, Stop, StopReason, Thread
from rdb.replay.protocol import PASS
from rdb.replay.replica import Replica
from rdb.timeline.backlog import Backlog
from rdb.timeline.branches import BranchPoint, Root
from rdb.timeline.images import Images, first_replica
from rdb.timeline.past import Past
from rdb.timeline.points import Points
from rdb.timeline.position import Position, ToEnd
from rdb.timeline.signals import Deliveries, Delivery, Heard
from rdb.timeline.stopped import Stopped
from rdb.timeline.travel import Travel
from rdb.timeline.walker import Control, Walker
from rdb.undoing import on_failure


def _images_of(recording: RankRecording | None) -> Images | None:
    if recording is None:
        return None
    return Images(recording.images, lambda number: Replica.start(recording, number))


class Standing:
    def __init__(
        self,
        recording: RankRecording | None,
        replica: Replica | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        first: Replica | None = replica
        lost: list[str] = []
        if first is None:
            if recording is None:
                raise ValueError("a recording or a replica")
            first, lost = first_replica(recording)
        with on_failure(first.close):
            self.hello = first.agent.hello()
            gpr = first.agent.get_regs().gpr
        self.recording = recording
        if schedule is None:
            schedule = Schedule() if recording is None else recording.schedule
        self.schedule = schedule
        self.points = Points()
        self.deliveries = Deliveries(recording)
        self._heard: Heard | None = None
        self.signalled = 0
        """Event of the delivery at which the last motion stopped; 0: it did not stop at one."""
        self._passing = 0  # what that was before the motion under way
        # In a branch: was an event answered, or a fault met, and nothing executed since?
        self._answered = self._raised = False
        self.control = Control()
        start = Position(self.hello.event)
        self.travel = Travel(
            Walker(first, start, gpr, self.control),
            self.control,
            self.hello.last_event,
            schedule=schedule,
            images=_images_of(recording),
            lost=lost,
        )
        self._told = 0  # how many of `lost` were shown
        self._here = start
        self._gpr = gpr
        self._live: Walker | None = None
        self._armed = -1  # the version of `points` that the live replica has
        self._past = Past()
        self._backlog: Backlog | None = None
        self._branch_moved: bool | None = None  # None: not in a branch
        self._root = Root(0, gpr)  # root of the newest branch
        self._branches = 0  # how many were opened
        self._text_maps: list[Map] = []

    def close(self) -> None:
        """Ends all replicas of this timeline."""
        self._drop_live()
        self._drop_backlog()
        self.travel.close()

    def _renew(self, settled: int) -> None:
        """The recording has grown: replicas before event SETTLED are kept."""
        assert self.recording is not None
        end, last_event = self.recording.end, self.recording.last_event
        kind, value = (0, 0) if end is None else (int(end.kind), end.value)

        def tell(walker: Walker) -> None:
            walker.agent.until(last_event, kind, value)

        self.schedule = self.recording.schedule
        images = _images_of(self.recording)
        self.travel.renew(settled, last_event, self.schedule, images, tell)
        origin = self.travel.origin
        self._here, self._gpr = origin.position, origin.gpr

    # ---- the position ----

    @property
    def position(self) -> Position:
        """Exact, and costs nothing.  In a branch: where the branch left the recording."""
        return self._here

    def name(self) -> Position:
        """The canonical EVENT or EVENT:PC:N of `position`; may replay one interval."""
        if self.branch:
            return self.travel.name(self._here, self._branch_pc)
        return self.travel.name(self._here, self._gpr.pc)

    @property
    def event(self) -> int:
        """The last event answered."""
        return self._here.event

    @property
    def live_event(self) -> int:
        """The last event answered, also in a branch."""
        return self.event if self._live is None else self._live.live_event

    @property
    def thread(self) -> int:
        """The number of the thread that runs next."""
        return self._gpr.thread

    def threads(self) -> list[Thread]:
        """The living threads at the position."""
        if self._live is None and not self.schedule.threaded:
            return self.travel.origin.agent.threads()
        return self._need_live().agent.threads()

    @property
    def last_event(self) -> int:
        return self.travel.last_event

    @property
    def lost(self) -> list[str]:
        """Parts of the recording that cannot be used, as far as known."""
        return self.travel.lost

    @property
    def end_position(self) -> Position:
        """The canonical name of the end."""
        return self.travel.end.position

    @property
    def branch(self) -> bool:
        """Has something been changed, so that what follows is not the recording?"""
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

    @property
    def end_known(self) -> bool:
        """Does the recording say how far the program came after its last event?"""
        return self.travel.end.exact

    @property
    def gpr(self) -> Gpr:
        return self._gpr

    # ---- signals ----

    @property
    def heard(self) -> Heard | None:
        """The signals that the program handles at which a motion stops; None: at none."""
        return self._heard

    @heard.setter
    def heard(self, heard: Heard | None) -> None:
        self._heard = heard
        self.points.faults = 0 if heard is None else self.deliveries.faults_heard(heard)

    def _faults(self) -> int:
        """The faults at which the live replica is to stop."""
        if self._heard is None or (self.points.faults and self.at_end):  # there it is the end
            return 0
        passed = PASS if (self._raised if self.branch else self._here.raised) else 0
        return passed | self.points.faults

    @property
    def delivery(self) -> Delivery | None:
        """The signal that is delivered here before any instruction; None: none is."""
        if not (self._answered if self.branch else not self._here.moves):
            return None
        return self.deliveries.at(self.live_event + 1)

    @property
    def fault(self) -> Stop | None:
        """The fault that the next instruction makes, if the rank was stopped for it or ends so."""
        if self._raised if self.branch else self._here.raised:
            return self._need_live().fault_here()
        end = self.travel.end.stop if self.at_end else None
        return end if end is not None and end.reason is StopReason.FAULT else None

    def _due(self) -> Stopped | None:
        """The stop at the signal that is delivered here, unless the motion began with it."""
        if self.heard is None or (one := self.delivery) is None:
            return None
        if one.event == self._passing or not self.heard.stops(one):
            return None
        return self._signalled(one)

    def _signalled(self, one: Delivery) -> Stopped:
        self.signalled = one.event
        return Stopped("signal", signal=one.signal, thread=one.thread)

    def _at_fault(self, stop: Stop) -> Stopped:
        return Stopped("signal", signal=stop.signal, addr=stop.addr)

    # ---- the live replica ----

    def _need_live(self) -> Walker:
        if self._live is None:
            self._live = self.travel.to(self._here)
            self._armed = -1
            if self._live.gpr != self._gpr:
                self._drop_live()
                raise Diverged(f"two replays to position {self._here} gave different registers")
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
            self._answered, self._raised = not position.moves, position.raised
        else:
            self._here = live.position = position

    # ---- branches ----

    def _open_branch(self) -> None:
        if not self.branch:
            self._answered, self._raised = not self._here.moves, self._here.raised
            self._branch_moved = False
            self._branches += 1
            self._root = Root(self._branches, self._gpr)

    @property
    def branch_number(self) -> int:
        """Number of the branch, from 1; 0: in the recording."""
        return self._root.number if self.branch else 0

    def keep_branch(self) -> BranchPoint:
        """The present state of the branch, for `enter_branch`; the caller closes it."""
        walker = self._need_live().fork()
        root = self._root
        return BranchPoint(root.number, self._here, root.gpr, bool(self._branch_moved), walker)

    @property
    def _branch_pc(self) -> int:
        return self._root.gpr.pc

    @property
    def recorded_gpr(self) -> Gpr:
        """The recorded registers at `position`, without the changes of a branch."""
        return self._root.gpr if self.branch else self._gpr

    def _leave_branch(self) -> None:
        self._drop_live()
        self._gpr = self._root.gpr
        self._branch_moved = None

    def _left_branch(self) -> bool:
        """Leaves the branch, if in one, to its root; True: it had moved from there."""
        moved = self._branch_moved
        if moved is not None:
            self._leave_branch()
        return bool(moved)
