"""A replica without a process: a tiny deterministic machine behind AgentClient's interface.

It follows interface/agent.h to the letter and by brute force (every instruction is looked
at), so that the timeline's algorithms can be compared with a complete list of all states.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field, replace

from rdb.recording.log.threads import Schedule
from rdb.replay import agent as real
from rdb.replay.agent import (
    FOREVER,
    AgentError,
    Gpr,
    Hello,
    Map,
    Regs,
    ScanHit,
    Stop,
    StopReason,
    Thread,
    ThreadState,
)
from rdb.replay.protocol import Op

CODE = 0x400000
SIZE = 16  # bytes of every instruction
DATA = 0x10000
DATA_LEN = 256
REGS = ("rax", "rbx", "rcx", "rdx")

Instr = tuple[str, int, int]


_NONE = dict.fromkeys(Gpr._fields, 0)


@dataclass
class Answer:
    """What the log says of one event."""

    result: int
    writes: list[tuple[int, bytes]] = field(default_factory=list)
    thread: int = 1
    kind: str = "answer"  # or "resume", "preempt", "exit"
    after: int = 0  # preempt: so many instructions after the event before
    creates: int = 0  # a new thread that starts at code[result]


@dataclass
class Program:
    code: list[Instr]
    log: list[Answer]  # of events 1, 2, ...
    fault: bool = False

    def schedule(self) -> Schedule:
        codes = {"preempt": 0, "exit": -1}
        runs = [(event, codes.get(one.kind, one.thread)) for event, one in enumerate(self.log, 1)]
        return Schedule([(0, 1), *runs])

    def pc(self, index: int) -> int:
        return CODE + SIZE * index


@dataclass
class State:
    regs: list[int]
    pc: int
    event: int
    memory: bytearray
    patched: dict[int, bytes] = field(default_factory=dict)
    thread: int = 1  # whose regs and pc these are
    idle: bool = False  # it does not go on: the next event says who does
    made: int = 0  # instructions since the last event
    others: dict[int, tuple[list[int], int]] = field(default_factory=dict)
    executed: int = 0  # the thread that the last transition completed an instruction of

    def copy(self) -> State:
        """As copy.deepcopy() makes it, soon."""
        return replace(
            self,
            regs=list(self.regs),
            memory=bytearray(self.memory),
            patched=dict(self.patched),
            others={thread: (list(regs), pc) for thread, (regs, pc) in self.others.items()},
        )

    def gpr(self, thread: int = 0) -> Gpr:
        regs, pc = self.regs, self.pc
        if thread not in (0, self.thread):
            regs, pc = self.others[thread]
        values = dict(zip(REGS, regs, strict=True))
        values |= {"rip": pc, "thread": thread or self.thread}
        return Gpr(**{**_NONE, **values})

    def key(self) -> tuple[object, ...]:
        return (self.event, self.pc, tuple(self.regs), bytes(self.memory), self.thread)

    def switch(self, thread: int) -> None:
        if thread != self.thread:
            self.others[self.thread] = (self.regs, self.pc)
            self.regs, self.pc = self.others.pop(thread)
            self.thread = thread


class EndOfLog(Exception):
    pass


class Fault(Exception):
    pass


def execute(program: Program, state: State) -> bool:
    """One instruction.  True: it was an event, of whichever thread the log says."""
    state.executed = state.thread
    if state.idle or _stopped_here(program, state):
        return _event(program, state)
    patch = state.patched.get(state.pc)
    if patch is not None and patch[0] == 0xE9:
        state.pc += 5 + int.from_bytes(patch[1:5], "little", signed=True)
        state.made += 1
        return False
    op, a, b = program.code[(state.pc - CODE) // SIZE]
    following = state.pc + SIZE
    if op in ("sys", "exit", "end"):
        return _event(program, state)
    if op == "fault":
        raise Fault
    if op == "movi":
        state.regs[a] = b
    elif op == "addi":
        state.regs[a] = (state.regs[a] + b) & 0xFFFF
    elif op == "store":
        state.memory[a : a + 2] = state.regs[b].to_bytes(2, "little")
    elif op == "load":
        state.regs[b] = int.from_bytes(state.memory[a : a + 2], "little")
    elif op == "decjnz":
        state.memory[a] = (state.memory[a] - 1) & 0xFF
        if state.memory[a]:
            following = b
    elif op == "seti":
        state.memory[a] = b
    state.pc = following
    state.made += 1
    return False


def _stopped_here(program: Program, state: State) -> bool:
    if state.event >= len(program.log):
        return False
    following = program.log[state.event]
    return following.kind == "preempt" and following.after == state.made


def _event(program: Program, state: State) -> bool:
    """The next event of the log; the current thread asks for one, or does not run."""
    if state.event >= len(program.log):
        raise EndOfLog
    answer = program.log[state.event]
    state.event += 1
    state.made = 0
    gone = state.idle and state.thread not in state.others and answer.thread != state.thread
    last = state.thread
    state.switch(answer.thread)
    if gone and program.log[state.event - 2].kind == "exit":
        del state.others[last]
    state.idle = answer.kind in ("preempt", "exit")
    state.executed = 0 if answer.kind in ("preempt", "resume") else answer.thread
    if answer.kind == "answer":
        state.regs[0] = answer.result
        for at, data in answer.writes:
            state.memory[at : at + len(data)] = data
        state.pc += SIZE
        if answer.creates:
            state.others[answer.creates] = ([0, 0, 0, answer.creates], CODE + SIZE * answer.result)
    return True


class FakeAgent:
    pid = 0
    spent_s = 0.0

    def __init__(self, program: Program, state: State) -> None:
        self.program = program
        self.state = state
        self.breaks: dict[int, tuple[int, bool, bytes]] = {}
        self.counters: dict[int, list[int]] = {}
        self.watches: dict[int, tuple[int, int]] = {}
        self.values: dict[int, bytes] = {}
        self.watch_hits: dict[int, int] = {}
        self.open = True
        self.executed = 0
        self.trace: list[Gpr] = []
        self.interrupt_after: int | None = None

    def hello(self) -> Hello:
        values = {"event": self.state.event, "last_event": len(self.program.log)}
        return Hello(**{name: values.get(name, 0) for name in Hello._fields})

    def fork(self) -> FakeAgent:
        assert self.open
        return FakeAgent(self.program, self.state.copy())

    def close(self) -> None:
        self.open = False

    def interrupt(self) -> None:
        self.interrupt_after = 0

    def read(self, addr: int, length: int) -> bytes:
        if CODE <= addr < CODE + SIZE * len(self.program.code) + 4096:
            return bytes(length)
        if DATA <= addr < DATA + DATA_LEN:
            return bytes(self.state.memory[addr - DATA : addr - DATA + length])
        return b""

    def write(self, addr: int, data: bytes) -> None:
        if addr >= CODE:
            self.state.patched[addr] = data
        else:
            self.state.memory[addr - DATA : addr - DATA + len(data)] = data

    def maps(self) -> list[Map]:
        return [Map(DATA, DATA + DATA_LEN, 3), Map(CODE, CODE + SIZE * len(self.program.code), 5)]

    def get_regs(self, thread: int = 0) -> Regs:
        if thread not in (0, self.state.thread, *self.state.others):
            raise AgentError(Op.GETREGS, errno.ESRCH)
        return Regs(self.state.gpr(thread), b"")

    def threads(self) -> list[Thread]:
        state = self.state
        return [
            Thread(number, 4000 + number, ThreadState(number != state.thread), pc, "fake")
            for number, (_, pc) in sorted(
                {**state.others, state.thread: (state.regs, state.pc)}.items()
            )
        ]

    def set_regs(self, regs: Regs) -> None:
        self.state.regs = [getattr(regs.gpr, name) for name in REGS]
        self.state.pc = regs.gpr.rip

    def undo_first(self) -> int:
        return FOREVER  # nothing is known: memory is looked at in a replica

    def traced(self, step: int) -> list[Gpr]:
        return self.trace[step : step + 600]

    def traced_at(self, pc: int, before: int) -> int | None:
        made = [step for step, gpr in enumerate(self.trace[:before]) if gpr.rip == pc]
        return made[-1] if made else None

    def traced_outside(self, first: int, end: int, before: int) -> int | None:
        made = [n for n, gpr in enumerate(self.trace[:before]) if not first <= gpr.rip < end]
        return made[-1] if made else None

    def hash(self) -> int:
        return hash(self.state.key())

    def set_break(self, id_: int, addr: int, stop: bool = True, cond: bytes = b"") -> None:
        self.breaks[id_] = (addr, stop, cond)
        self.counters[id_] = [0, 0]

    def clear_break(self, id_: int | None = None) -> None:
        for one in [id_] if id_ is not None else list(self.breaks):
            self.breaks.pop(one, None)

    def counts(self, id_: int) -> tuple[int, int]:
        total, since = self.counters[id_]
        return total, since

    settled = True

    def settle_begin(self) -> None:
        """Nothing to do: a fork costs the same here anyway."""

    def settle_end(self) -> int:
        return 0

    def watch(self, id_: int, addr: int, length: int, kind: int = 0) -> bool:
        self.watches[id_] = (addr, length)
        self.values[id_] = self.read(addr, length)
        return True

    def unwatch(self, id_: int | None = None) -> None:
        for one in [id_] if id_ is not None else list(self.watches):
            self.watches.pop(one, None)

    def run(
        self,
        until_event: int = FOREVER,
        until_pc: int = 0,
        until_n: int = 0,
        scan: bool = False,
        thread: int = 0,
        limit: int | None = None,
        faults: int = 0,  # the program handles none
    ) -> Stop:
        goal = {"until_event": until_event, "until_pc": until_pc, "until_n": until_n}
        return self._go(scan, False, **goal, thread=thread, limit=limit)

    def step(
        self,
        count: int = 1,
        trace: bool = False,
        pc: int | None = None,
        n: int = 0,
        blind: bool = False,
        scan: bool = False,
        inside: tuple[int, int] | None = None,
        faults: int = 0,
    ) -> Stop:
        return self._go(scan, blind, count=count, trace=trace, pc=pc, n=n, inside=inside)

    def _go(
        self,
        scan: bool,
        blind: bool,
        until_event: int = FOREVER,
        until_pc: int = 0,
        until_n: int = 0,
        count: int | None = None,
        trace: bool = False,
        pc: int | None = None,
        n: int = 0,
        thread: int = 0,
        limit: int | None = None,
        inside: tuple[int, int] | None = None,
    ) -> Stop:
        assert self.open
        state = self.state
        began = state.event
        hits: dict[int, int] = {}
        self.watch_hits = {}
        found = dict.fromkeys(ScanHit._fields, 0)
        traced: list[Gpr] = []
        self.trace = traced
        steps = arrived = 0

        def stop(reason: StopReason, **more: int) -> Stop:
            values: dict[str, object] = {name: 0 for name in Stop.__dataclass_fields__}
            values |= {"reason": reason, "event": state.event, "steps": steps, "text": ""}
            values |= {"hits": hits.get(state.pc, 0), "gpr": state.gpr(), "scan": ScanHit(**found)}
            values |= {"trace": traced[-600:]} | more
            return Stop(**values)  # type: ignore[arg-type]

        def runs(wanted: int) -> bool:
            return state.thread == wanted and not state.idle

        if thread and state.event >= until_event and runs(thread):
            return stop(StopReason.TARGET)
        while True:
            if self.interrupt_after is not None:
                if self.interrupt_after == 0:
                    self.interrupt_after = None
                    return stop(StopReason.INTERRUPT)
                self.interrupt_after -= 1
            before = state.gpr()
            try:
                event = execute(self.program, state)
            except EndOfLog:
                return stop(StopReason.END)
            except Fault:
                return stop(StopReason.FAULT, signal=11)
            steps += 1
            self.executed += 1
            if trace:
                traced.append(before)
            if event:
                hits.clear()
                self.watch_hits.clear()
                for counter in self.counters.values():
                    counter[1] = 0
            if not state.idle:
                hits[state.pc] = hits.get(state.pc, 0) + 1
            for id_, (addr, _, _) in self.breaks.items():
                if addr == state.pc and not blind and not state.idle:
                    self.counters[id_][0] += 1
                    self.counters[id_][1] += 1
            changed = 0
            if not blind:
                for id_, (addr, length) in self.watches.items():
                    value = self.read(addr, length)
                    if value != self.values[id_]:
                        self.values[id_] = value
                        changed = changed or id_
                        self.watch_hits[id_] = self.watch_hits.get(id_, 0) + 1
            if changed:
                found |= {
                    "id": changed, "event": state.event, "pc": state.pc, "steps": steps,
                    "hits": self.watch_hits[changed], "by_event": int(event),
                    "total": found["total"] + 1,
                }  # fmt: skip
                if not scan:
                    return stop(
                        StopReason.WATCH, id=changed, addr=self.watches[changed][0],
                        by_event=int(event),
                    )  # fmt: skip
            # The target wins over breakpoints at it.
            if count is not None:
                if pc is not None and state.pc == pc:
                    arrived += 1
                    if arrived == n:
                        return stop(StopReason.PC)
                outside = inside and not inside[0] <= state.pc < inside[1]
                if steps == count or outside or (inside and state.event != began):
                    return stop(StopReason.TARGET)
            elif until_n:
                if state.event >= until_event and state.pc == until_pc and not state.idle:
                    arrived += 1
                    if arrived == until_n:
                        return stop(StopReason.TARGET)
            elif thread:
                if event and state.event >= until_event and runs(thread):
                    return stop(StopReason.TARGET)
            elif state.event == until_event:
                return stop(StopReason.TARGET)
            if blind or state.idle:
                continue
            for id_, (addr, stops, cond) in self.breaks.items():
                if addr == state.pc and stops and holds(cond, state):
                    found |= {
                        "id": id_, "event": state.event, "pc": state.pc, "steps": steps,
                        "hits": hits[state.pc], "by_event": 0, "total": found["total"] + 1,
                    }  # fmt: skip
                    if not scan:
                        return stop(StopReason.BREAK, id=id_)
                    break
            if limit is not None and steps > limit:
                return stop(StopReason.LIMIT)


def holds(cond: bytes, state: State) -> bool:
    """A condition is two bytes: memory[first] == second."""
    return not cond or state.memory[cond[0]] == cond[1]


class FakeReplica:
    """Like rdb.replay.replica.Replica; counts those that are open."""

    open_count = 0

    def __init__(self, agent: FakeAgent) -> None:
        self.agent = agent
        FakeReplica.open_count += 1

    @classmethod
    def start(cls, program: Program) -> FakeReplica:
        return cls(FakeAgent(program, initial(program)))

    def fork(self) -> FakeReplica:
        return FakeReplica(self.agent.fork())

    def close(self) -> None:
        assert self.agent.open
        self.agent.close()
        FakeReplica.open_count -= 1


def initial(program: Program) -> State:
    return State([0, 0, 0, 0], CODE, 0, bytearray(DATA_LEN))


def all_states(program: Program, limit: int = 100_000) -> list[State]:
    """Every state of the whole recording."""
    state = initial(program)
    states = [state.copy()]
    for _ in range(limit):
        try:
            execute(program, state)
        except (EndOfLog, Fault):
            return states
        states.append(state.copy())
    raise AssertionError("the program does not end")


assert real.FOREVER == FOREVER
