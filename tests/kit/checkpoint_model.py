"""The coordinated checkpoint as a state machine, and an explorer of all its interleavings.

docs/internals/checkpoint-protocol.md describes it.  The machine is that of coordinated.c: each step
is one access to the board, or one decision.  What the board says (who is behind, whether a call has
no count) is asked of board.c itself, which tests/coordinate/test_checkpoint_model.py compiles.

A rank's program is a tuple of operations:
    work           computes; it may be held before it
    init, final    MPI_Init, MPI_Finalize: each waits for all ranks
    all, all!      a collective; with `!` one in which a rank cannot be held
    bcast0         a collective that rank 0 leaves at once
    send1, recv1   a message to rank 1, from rank 1 (sends are buffered)
    die            the process is killed
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

Program = tuple[str, ...]
OPEN, GO, NO = "open", "go", "no"
HOLDS = 4  # of each rank, at most: without a bound there are states without end


@dataclass(frozen=True, slots=True)
class Rank:
    pc: int = 0
    at: str = "run"  # run; in its operation: wait; held: halting, held, scan, leave, image, imaged
    waits: bool = False  # it is held in an operation that waits
    held: bool = False  # what its slot says
    moves: int = 0
    sent: tuple[int, ...] = ()
    received: tuple[int, ...] = ()  # also what was drained
    drained: tuple[int, ...] = ()  # by a checkpoint, and not yet taken by a receive
    pending: bool = False
    count: int = 0  # collectives begun
    inside: bool = False  # it may be held in the newest
    away: bool = False
    mpi: int = 0  # none, begins, runs, ends
    image: tuple[object, ...] = ()  # what it says of collectives and messages
    failed: bool = False
    done: bool = False
    gone: bool = False
    dead: bool = False
    seen: tuple[int, ...] = ()  # of a scan: moves of each rank in its first look, then its progress


class Look(NamedTuple):
    """What a relay has heard of a rank."""

    moves: int
    rests: bool
    begun: int
    sent: tuple[int, ...]
    received: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class State:
    ranks: tuple[Rank, ...]
    wanted: bool = False
    verdict: str = OPEN
    lock: int = -1
    # Each rank on a host of its own:
    told: tuple[str, ...] = ()  # the verdict as that host knows it
    looks: tuple[Look, ...] = ()  # of the relay that decides
    agreed: tuple[int, ...] = ()  # the moves of each rank that it saw


class Board(Protocol):
    """Questions that interposer/restart/checkpoint/board.c answers."""

    def behind(self, state: State, rank: int) -> bool: ...
    def silent(self, state: State) -> bool: ...


class Put(Protocol):
    """The state with another self, and perhaps another verdict or holder of the lock."""

    def __call__(self, new: Rank, verdict: str = ..., lock: int = ...) -> State: ...


class Wrong(Exception):
    """An invariant does not hold."""


def initial(programs: tuple[Program, ...], hosts: bool = False) -> State:
    none = (0,) * len(programs)
    rank = Rank(sent=none, received=none, drained=none)
    ranks = tuple(replace(rank, mpi=0 if "init" in program else 2) for program in programs)
    return State(ranks, told=(OPEN,) * len(ranks) if hosts else ())


def counted(rank: Rank) -> int:
    return rank.count - rank.inside


def at_rest(looks: tuple[Look, ...]) -> bool:
    sent = sum(sum(look.sent) for look in looks)
    received = sum(sum(look.received) for look in looks)
    same = len({look.begun for look in looks}) == 1
    return same and sent == received and all(look.rests for look in looks)


class Machine:
    """Steps of all ranks.  `leaves_unlocked`, `images_late`: mistakes to be found."""

    def __init__(
        self,
        programs: tuple[Program, ...],
        board: Board,
        leaves_unlocked: bool = False,
        images_late: bool = False,
    ) -> None:
        self.programs = programs
        self.board = board
        self.leaves_unlocked = leaves_unlocked
        self.images_late = images_late

    def finished(self, state: State) -> bool:
        return all(rank.gone or rank.dead for rank in state.ranks)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Each step that may come next, but for the ends of waits by their bounds."""
        if not state.wanted:
            yield "ask", replace(state, wanted=True)
        for me, rank in enumerate(state.ranks):
            if rank.gone or rank.dead:
                continue
            for what, after in self._of(state, me, rank):
                self._check(after)
                yield f"{me}: {what}", after
        if state.told and state.wanted:
            yield from self._relay(state)

    # ---- several hosts ----

    def _relay(self, state: State) -> Iterator[tuple[str, State]]:
        """rdb/coordinate/relay.py: two looks at all ranks, then the verdict to each host."""
        size, looks = len(state.ranks), state.looks
        if state.verdict != OPEN:
            for me, told in enumerate(state.told):
                if told == OPEN:
                    now = (*state.told[:me], state.verdict, *state.told[me + 1 :])
                    yield f"host {me} hears", replace(state, told=now)
            return
        if len(looks) in (size, 2 * size) and not at_rest(looks[-size:]):
            yield "relay forgets", replace(state, looks=())
        elif len(looks) == 2 * size:
            moved = any(a.moves != b.moves for a, b in zip(looks[:size], looks[size:], strict=True))
            agreed = () if moved else tuple(look.moves for look in looks[:size])
            verdict = OPEN if moved else GO
            yield "relay decides", replace(state, looks=(), verdict=verdict, agreed=agreed)
        else:
            rank = state.ranks[len(looks) % size]
            rests = rank.held and not rank.pending
            look = Look(rank.moves, rests, counted(rank), rank.sent, rank.received)
            yield "relay looks", replace(state, looks=(*looks, look))

    # ---- the program ----

    def _operation(self, me: int, rank: Rank) -> str:
        program = self.programs[me]
        return program[rank.pc] if rank.pc < len(program) else "exit"

    def _arrived(self, state: State, me: int, source: int) -> bool:
        mine, other = state.ranks[me], state.ranks[source]
        return bool(mine.drained[source] or other.sent[me] > mine.received[source])

    def _complete(self, state: State, me: int, rank: Rank) -> bool:
        """May the call that it waits in return?"""
        operation = self._operation(me, rank)
        if operation.startswith("recv"):
            return self._arrived(state, me, int(operation[4:]))
        if operation == "init":
            return all(other.mpi >= 1 for other in state.ranks)
        if operation == "final":
            return all(other.mpi == 3 for other in state.ranks)
        if operation.startswith("bcast") and int(operation[5:]) == me:
            return True
        return all(other.count >= rank.count for other in state.ranks)

    def _run(self, state: State, me: int, rank: Rank) -> Iterator[tuple[str, Rank]]:
        operation = self._operation(me, rank)
        if operation == "exit":
            yield "exit", replace(rank, gone=True)
        elif operation == "die":
            yield "die", replace(rank, dead=True)
        elif operation == "work":
            yield "work", replace(rank, pc=rank.pc + 1)
        elif operation.startswith("send"):
            to = int(operation[4:])
            yield operation, replace(rank, pc=rank.pc + 1, sent=added(rank.sent, to))
        elif operation.startswith("recv"):
            yield operation, replace(rank, at="wait", away=True)
        elif operation in ("init", "final"):
            yield (
                operation,
                replace(rank, at="wait", away=True, mpi=1 if operation == "init" else 3),
            )
        else:
            inside = not operation.endswith("!")
            yield (
                operation,
                replace(rank, at="wait", away=True, inside=inside, count=rank.count + 1),
            )

    def _returned(self, state: State, me: int, rank: Rank) -> Rank:
        operation = self._operation(me, rank)
        after = replace(rank, at="run", pc=rank.pc + 1, away=False, inside=False)
        if operation == "init":
            return replace(after, mpi=2)
        if operation.startswith("recv"):
            source = int(operation[4:])
            if rank.drained[source]:
                return replace(after, drained=added(rank.drained, source, -1))
            return replace(after, received=added(rank.received, source))
        return after

    # ---- the checkpoint ----

    def _verdict(self, state: State, me: int) -> str:
        return state.told[me] if state.told else state.verdict

    def _may_begin(self, state: State, me: int, rank: Rank) -> bool:
        """coordinated_hold(), and held() up to set_state(BOARD_HELD)."""
        verdict = self._verdict(state, me)
        if not state.wanted or rank.done or rank.moves >= 2 * HOLDS:
            return False
        if rank.at == "wait":
            operation = self._operation(me, rank)
            if operation.startswith("recv"):
                return True
            return rank.inside and verdict == OPEN and not self.board.behind(state, me)
        unready = self.board.silent(state) or self.board.behind(state, me)
        return not (verdict == OPEN and unready) and rank.mpi != 3

    def _of(self, state: State, me: int, rank: Rank) -> Iterator[tuple[str, State]]:
        def put(new: Rank, verdict: str = state.verdict, lock: int = state.lock) -> State:
            ranks = (*state.ranks[:me], new, *state.ranks[me + 1 :])
            return replace(state, ranks=ranks, verdict=verdict, lock=lock)

        if rank.at == "run":
            for what, after in self._run(state, me, rank):
                yield what, put(after)
        if rank.at == "wait" and self._complete(state, me, rank):
            yield "returns", put(self._returned(state, me, rank))
        if rank.at in ("run", "wait"):
            if self._may_begin(state, me, rank):
                yield (
                    "halts",
                    put(
                        replace(
                            rank, at="halting", waits=rank.at == "wait", pending=True, held=True
                        )
                    ),
                )
            return
        base = "wait" if rank.waits else "run"
        over = replace(rank, at=base, held=False, moves=rank.moves + 1, done=True)
        if rank.at == "halting":
            yield "is held", put(replace(rank, at="held", moves=rank.moves + 1))
        elif rank.at == "held":
            yield from self._held(state, me, rank, put, over)
        elif rank.at == "scan":
            yield from self._scan(state, me, rank, put)
        elif rank.at == "leave" and (self.leaves_unlocked or state.lock < 0):
            if self.leaves_unlocked or self._verdict(state, me) == OPEN:
                left = replace(rank, at=base, held=False, moves=rank.moves + 1)
                yield "goes on", put(left)
            elif self._verdict(state, me) == GO:
                yield "stays after all", put(replace(rank, at="image"))
            else:
                yield "gives up", put(over)
        elif rank.at == "image" and self._seen_elsewhere(state, me, rank):
            yield "was seen elsewhere", put(replace(over, failed=True))
        elif rank.at == "image":
            image = (counted(rank), rank.sent, rank.received)
            yield "images", put(replace(rank, at="imaged", image=image))
        elif rank.at == "imaged" and all(
            other.image or other.failed or other.dead or other.gone for other in state.ranks
        ):
            yield "goes on with an image", put(over)

    def _seen_elsewhere(self, state: State, me: int, rank: Rank) -> bool:
        """It has gone on since the relay looked at it."""
        other = bool(state.agreed) and state.agreed[me] != rank.moves
        return other and not self.images_late

    def _held(
        self, state: State, me: int, rank: Rank, put: Put, over: Rank
    ) -> Iterator[tuple[str, State]]:
        """wait_for_verdict()"""
        verdict = self._verdict(state, me)
        if verdict == GO:
            yield "hears go", put(replace(rank, at="image"))
            return
        if verdict == NO:
            yield "hears no", put(over)
            return
        ranks = state.ranks
        new = tuple(other.sent[me] - rank.received[at] for at, other in enumerate(ranks))
        if rank.pending or any(new):
            drained = tuple(old + more for old, more in zip(rank.drained, new, strict=True))
            received = tuple(other.sent[me] for other in ranks)
            yield "drains", put(replace(rank, pending=False, drained=drained, received=received))
        operation = self._operation(me, rank)
        complete = rank.waits and (
            self._arrived(state, me, int(operation[4:]))
            if operation.startswith("recv")
            else self.board.behind(state, me)
        )
        unready = not rank.waits and (self.board.silent(state) or self.board.behind(state, me))
        tenth = not rank.waits and any(
            self.board.behind(state, other) or (one.away and not one.held)
            for other, one in enumerate(ranks)
        )
        if complete or unready or tenth:
            yield "must go on", put(replace(rank, at="leave"))
        if any(other.gone or other.dead for other in ranks):
            yield "refuses", put(rank, verdict=NO)
        elif state.lock < 0 and not state.told:
            yield "looks at all", put(replace(rank, at="scan", seen=()), lock=me)

    def _scan(self, state: State, me: int, rank: Rank, put: Put) -> Iterator[tuple[str, State]]:
        """board_stable() by who has the lock: two looks, rank by rank."""
        size = len(state.ranks)
        done = len(rank.seen)
        back = replace(rank, at="held", seen=())
        if done == 2 * size:
            if state.verdict == OPEN:
                self._consistent(state)
                yield "decides", put(back, verdict=GO, lock=-1)
            else:
                yield "too late", put(back, lock=-1)
            return
        other = state.ranks[done % size]
        messages = sum(map(sum, (one.sent for one in state.ranks)))
        taken = sum(map(sum, (one.received for one in state.ranks)))
        unmoved = done < size or rank.seen[done - size] == other.moves
        last = done == 2 * size - 1
        stable = other.held and not other.pending and unmoved
        if done % size == size - 1:
            stable = stable and not any(self.board.behind(state, one) for one in range(size))
        if last:
            stable = stable and messages == taken
        if not stable:
            yield "is not stable", put(back, lock=-1)
        else:
            yield "looks", put(replace(rank, seen=(*rank.seen, other.moves)))

    # ---- what must hold ----

    def _consistent(self, state: State) -> None:
        counts = {counted(rank) for rank in state.ranks}
        if len(counts) > 1:
            raise Wrong(
                f"go, and some are inside a collective that others have not begun: {counts}"
            )
        for me, rank in enumerate(state.ranks):
            if any(other.sent[me] != rank.received[at] for at, other in enumerate(state.ranks)):
                raise Wrong(f"go, and a message to rank {me} is under way")
            if rank.at in ("run", "wait"):
                raise Wrong(f"go, and rank {me} runs")

    def _check(self, state: State) -> None:
        images = [rank.image for rank in state.ranks]
        if all(images) and not any(rank.failed for rank in state.ranks):
            whole(images)
        if state.verdict != GO or state.told:
            return
        for me, rank in enumerate(state.ranks):
            if rank.at in ("run", "wait") and not rank.image and not rank.dead:
                raise Wrong(f"rank {me} goes on without the image that others rely on")


def whole(images: list[tuple[object, ...]]) -> None:
    """Images of all ranks: a checkpoint that can be restarted."""
    if len({image[0] for image in images}) > 1:
        raise Wrong("images of ranks that have begun other collectives")
    for me, (_, sent, _) in enumerate(images):
        for to, (_, _, received) in enumerate(images):
            if sent[to] != received[me]:  # type: ignore[index]
                raise Wrong(f"images with a message from {me} to {to} under way")


def added(counts: tuple[int, ...], at: int, more: int = 1) -> tuple[int, ...]:
    return (*counts[:at], counts[at] + more, *counts[at + 1 :])


@dataclass
class Explored:
    states: int
    steps: int
    images: int
    """Final states that have an image of every rank."""


def explore(machine: Machine, begin: State) -> Explored:
    """Every interleaving.

    Raises Wrong, with the steps to it, for a broken invariant, and for a state from which no steps
    lead to the end of all programs (bounds of waits do not count).
    """
    came: dict[State, tuple[State, str] | None] = {begin: None}
    back: dict[State, list[State]] = {}
    todo = deque([begin])
    ends: list[State] = []
    steps = 0
    while todo:
        state = todo.popleft()
        if machine.finished(state):
            ends.append(state)
        try:
            for what, after in machine.steps(state):
                steps += 1
                back.setdefault(after, []).append(state)
                if after not in came:
                    came[after] = (state, what)
                    todo.append(after)
        except Wrong as wrong:
            raise Wrong(f"{wrong}\n" + "\n".join(path(came, state))) from None
    alive = set(ends)
    todo = deque(ends)
    while todo:
        for before in back.get(todo.popleft(), ()):
            if before not in alive:
                alive.add(before)
                todo.append(before)
    stuck = next((state for state in came if state not in alive), None)
    if stuck is not None:
        raise Wrong("no way to the end\n" + "\n".join(path(came, stuck)) + f"\n{stuck}")
    whole = sum(all(rank.image for rank in end.ranks) for end in ends)
    return Explored(len(came), steps, whole)


def path(came: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    words: list[str] = []
    at: State = state
    while (before := came[at]) is not None:
        at, what = before
        words.append(what)
    return words[::-1]
