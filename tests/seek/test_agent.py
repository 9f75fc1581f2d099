"""The agent inside a replica (interposer/interface/agent.h), driven as the timeline drives it."""

from __future__ import annotations

import os
import signal
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import deadlines
import pytest
from replicas import Recorded, record

from rdb.replay.agent import (
    FOREVER,
    AgentError,
    AgentGone,
    Changed,
    Output,
    Regs,
    Stop,
    StopReason,
    WatchKind,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record("agent.c", tmp_path_factory.mktemp("agent"))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record("agent_fault.c", tmp_path_factory.mktemp("fault"))


@pytest.fixture
def rec(made: Recorded) -> Iterator[Recorded]:
    yield made
    made.close()


@pytest.fixture
def fault(faulty: Recorded) -> Iterator[Recorded]:
    yield faulty
    faulty.close()


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def word_equals(addr: int, value: int) -> bytes:
    """The agent expression *(int *) addr == value, as GDB would send it."""
    address = b"\x25" + addr.to_bytes(8, "big")  # const64
    number = b"\x23" + value.to_bytes(2, "big")  # const16
    return address + b"\x19\x16\x20" + number + b"\x13\x27"  # ref32, ext 32, equal, end


# ---- copies ----


def test_settling_changes_nothing(tmp_path: Path) -> None:
    rec = record("settle.c", tmp_path)
    try:
        plain, settled = rec.replica(), rec.replica()
        moved = []
        for event in range(1, plain.hello().last_event + 1):
            assert plain.run(until_event=event).reason is StopReason.TARGET
            settled.settle_begin()
            moved.append(settled.settle_end())
            if event % 2:
                child = settled.fork()
                settled.close()
                settled = child
            stop = settled.run(until_event=event)
            assert (stop.reason, stop.event) == (StopReason.TARGET, event)
            assert settled.hash() == plain.hash(), f"after event {event}"
        assert max(moved) >= 10 << 20
        assert 0 in moved
        settled.close()
    finally:
        rec.close()


def test_changes_are_noted_as_stops_would_tell_them(rec: Recorded) -> None:
    addr, length = rec.symbols["sum"], 8
    noting, stopping = rec.replica(), rec.replica()
    for agent in (noting, stopping):
        assert agent.watch(1, addr, length)
    noted: list[Changed] = []
    batches = []
    while not noted or batches[-1].reason is StopReason.LIMIT:
        batches.append(noting.run_changes(FOREVER, addr, length, 300))
        noted += noting.changes()
    assert len(batches) > 3
    assert batches[-1].reason is StopReason.END
    for change in noted:
        stop = stopping.run()
        assert stop.reason is StopReason.WATCH
        now = stopping.read(addr, length)
        assert change == (stop.event, stop.gpr.rip, bool(stop.by_event), now)
    assert stopping.run().reason is StopReason.END
    assert len(noted) == 999  # the first turn adds nothing


def test_run_gives_up_after_so_much_work(rec: Recorded) -> None:
    agent = rec.replica()
    agent.set_break(1, rec.symbols["loop_body"], cond=word_equals(rec.symbols["i"], 5000))
    stop = agent.run(scan=True, limit=32 * 100)
    assert stop.reason is StopReason.LIMIT
    assert stop.scan.id == 0
    met, _ = agent.counts(1)
    assert 10 < met <= 101
    agent.clear_break(1)
    assert agent.run(limit=32 * 100).reason is StopReason.END


# ---- looking ----


def test_hello_and_memory(rec: Recorded) -> None:
    agent = rec.replica()
    hello = agent.hello()
    assert (hello.event, hello.end_kind, hello.end_value) == (0, 1, 3)
    assert hello.pid == agent.pid == rec.started[0][1].pid
    maps = agent.maps()
    assert maps == sorted(maps)
    text = next(m for m in maps if m.start <= rec.symbols["main"] < m.end)
    assert text.prot == 5
    auxv = agent.read(hello.auxv_addr, hello.auxv_len)
    entries = dict(struct.iter_unpack("=2Q", auxv))
    assert entries[6] == 4096  # AT_PAGESZ
    assert hello.entry == agent.get_regs().gpr.rip == rec.symbols["_start"]
    assert agent.read(0, 16) == b""
    # partly there: from the last bytes of the mapping that has nothing after it
    end = next(m.end for m in maps if not any(o.start == m.end for o in maps))
    assert len(agent.read(end - 8, 100)) == 8
    with pytest.raises(AgentError):
        agent.write(0, b"x")


def test_writing_text_and_registers(rec: Recorded) -> None:
    agent = rec.replica()
    before = agent.hash()
    fact = rec.symbols["fact"]
    original = agent.read(fact, 4)
    agent.write(fact, b"\x90\x90\x90\x90")  # read-only memory
    assert agent.read(fact, 4) == b"\x90\x90\x90\x90"
    assert agent.hash() != before
    agent.write(fact, original)
    assert agent.hash() == before
    regs = agent.get_regs()
    xsave = bytearray(regs.xsave)
    xsave[160:176] = bytes(range(16))  # xmm0
    xsave[512] |= 2
    changed = Regs(
        regs.gpr._replace(rax=0x1234, r15=77, eflags=regs.gpr.eflags | 0x101), bytes(xsave)
    )
    agent.set_regs(changed)
    now = agent.get_regs()
    assert (now.gpr.rax, now.gpr.r15, now.xsave[160:176]) == (0x1234, 77, bytes(range(16)))
    assert now.gpr.eflags & 0x101 == 1  # no trap flag from outside
    stop = agent.step(1, real=True)
    assert stop.gpr.r15 == 77
    assert agent.get_regs().xsave[160:176] == bytes(range(16))


# ---- breakpoints and targets ----


def test_thousand_hits_then_the_end(rec: Recorded) -> None:
    agent = rec.replica()
    agent.set_break(1, rec.symbols["loop_body"])
    for n in range(1000):
        stop = agent.run()
        assert (stop.reason, stop.id, stop.hits, stop.event) == (StopReason.BREAK, 1, 1, 0)
        assert stop.gpr.rip == rec.symbols["loop_body"]
        assert n in (stop.gpr.rax, stop.gpr.rdx, stop.gpr.rcx)
    assert agent.counts(1) == (1000, 1000)
    assert agent.read(rec.symbols["loop_body"], 1) != b"\xcc"
    stop = agent.run()
    assert (stop.reason, stop.end_kind, stop.end_value) == (StopReason.END, 1, 3)
    assert agent.run().reason == agent.step(5).reason == StopReason.END
    assert agent.counts(1) == (1000, 0)


def test_condition(rec: Recorded) -> None:
    agent = rec.replica()
    body = rec.symbols["loop_body"]
    agent.set_break(1, body, cond=word_equals(rec.symbols["i"], 500))
    agent.set_break(2, body, stop=False)
    stop = agent.run()
    assert (stop.reason, stop.id, stop.hits) == (StopReason.BREAK, 1, 501)
    assert rec.value(agent, "i", 4) == 500
    assert agent.counts(2) == (501, 501)
    # registers, by GDB's numbers: $rdi == 3
    other = rec.replica()
    other.set_break(1, rec.symbols["fact"], cond=b"\x26\x00\x05\x22\x03\x13\x27")
    stop = other.run()
    assert (stop.reason, stop.gpr.rdi, stop.hits) == (StopReason.BREAK, 3, 3)
    # cannot be evaluated: division by zero, a stack that is empty, memory that is not there
    for id_, bad in enumerate((b"\x22\x01\x22\x00\x05\x27", b"\x02\x27", b"\x22\x00\x1a\x27"), 10):
        agent.set_break(id_, body, cond=bad)
        stop = agent.run()
        assert (stop.reason, stop.id) == (StopReason.BREAK, id_)
        agent.clear_break(id_)
    with pytest.raises(AgentError):
        agent.set_break(1, body)
    with pytest.raises(AgentError):
        agent.clear_break(99)


def test_several_at_one_address_and_clearing(rec: Recorded) -> None:
    agent = rec.replica()
    body = rec.symbols["loop_body"]
    for id_ in (3, 1, 2):
        agent.set_break(id_, body, stop=id_ != 2)
    assert agent.run().id == 3  # the first one set
    agent.clear_break(3)
    assert agent.run().id == 1
    agent.clear_break(1)
    agent.set_break(4, rec.symbols["fact"])
    stop = agent.run()
    assert (stop.id, stop.gpr.rdi) == (4, 5)
    assert agent.counts(2) == (1000, 1000)
    agent.clear_break()
    assert agent.run().reason == StopReason.END


def test_targets_are_exact(rec: Recorded) -> None:
    body = rec.symbols["loop_body"]
    stops: list[Stop] = []
    for n in (1, 2, 700):
        agent = rec.replica()
        agent.set_break(1, rec.symbols["main"])
        assert agent.run().reason == StopReason.BREAK
        agent.set_break(2, body)  # loses against the target when it is the same arrival
        if n > 1:
            agent.clear_break(2)
        stop = agent.run(until_pc=body, until_n=n)
        assert (stop.reason, stop.hits) == (StopReason.TARGET, n)
        assert rec.value(agent, "i", 4) == n - 1
        stops.append(stop)
        stepped = rec.replica().step(10**6, pc=body, n=n)
        assert (stepped.reason, stepped.gpr) == (StopReason.PC, stop.gpr)
    assert stops[0].event == 0


def test_events_and_arrival_by_an_answer(rec: Recorded) -> None:
    agent = rec.replica()
    last = agent.hello().last_event
    stop = agent.run(until_event=last - 1)
    assert (stop.reason, stop.event) == (StopReason.TARGET, last - 1)
    after = stop.gpr.rip  # right behind a system call
    assert agent.read(after - 2, 2) == b"\x0f\x05"
    other = rec.replica()
    other.set_break(1, after, stop=False)
    stop = other.run(until_event=last - 1, until_pc=after, until_n=1)
    assert (stop.reason, stop.event, stop.hits) == (StopReason.TARGET, last - 1, 1)
    assert stop.gpr == agent.get_regs().gpr
    assert agent.hash() == other.hash()
    third = rec.replica()
    third.set_break(1, after, stop=False)
    assert third.run(until_event=last - 1).reason == StopReason.TARGET
    assert third.counts(1)[1] == other.counts(1)[1] == 1  # stopping there is arriving there
    # the target is here already
    assert third.run(until_event=1).reason == StopReason.TARGET


def test_scan_remembers_the_last_hit_before_the_target(rec: Recorded) -> None:
    agent = rec.replica()
    body, fact = rec.symbols["loop_body"], rec.symbols["fact"]
    agent.set_break(1, body, cond=word_equals(rec.symbols["i"], 321))
    agent.set_break(2, body, stop=False)
    stop = agent.run(until_pc=fact, until_n=1, scan=True)
    assert stop.reason == StopReason.TARGET
    assert (stop.scan.id, stop.scan.hits, stop.scan.pc, stop.scan.total) == (1, 322, body, 1)
    agent = rec.replica()
    agent.set_break(1, body)
    stop = agent.run(until_pc=body, until_n=700, scan=True)
    assert (stop.scan.hits, stop.scan.total) == (699, 699)  # not the one at the target
    steps = agent.step(1000, pc=body, n=5, scan=True)
    assert (steps.reason, steps.scan.total) == (StopReason.PC, 4)
    assert 0 < steps.scan.steps < steps.steps


def test_breakpoint_in_a_library_that_comes_later(tmp_path: Path) -> None:
    rec = record("agent_library.c", tmp_path)
    first = rec.replica()
    first.output_on(True)
    first.run()
    address = int(first.output_fetch()[-1].data.split()[0], 16)
    agent = rec.replica()
    assert agent.read(address, 1) == b""
    agent.set_break(1, address)
    for _ in range(10):
        stop = agent.run()
        assert (stop.reason, stop.gpr.rip) == (StopReason.BREAK, address)
    assert agent.run().reason == StopReason.END
    again = rec.replica()
    stop = again.run(until_pc=address, until_n=7)
    assert (stop.reason, stop.hits) == (StopReason.TARGET, 7)
    rec.close()


# ---- stepping ----


def test_emulated_and_real_steps_agree(rec: Recorded) -> None:
    ours, theirs = rec.replica(), rec.replica()
    total = 0
    while True:
        a, b = ours.step(500, trace=True), theirs.step(500, trace=True, real=True)
        assert a.trace == b.trace
        assert (a.gpr, a.steps, a.event, a.reason) == (b.gpr, b.steps, b.event, b.reason)
        assert len(a.trace) == a.steps
        total += a.steps
        if a.reason == StopReason.END:
            break
    assert total > 10000
    assert ours.hash() == theirs.hash()
    native = rec.replica()
    end = native.run()
    assert (end.reason, end.gpr) == (StopReason.END, a.gpr)
    assert native.hash() == ours.hash()
    assert native.get_regs() == ours.get_regs() == theirs.get_regs()


def processor_has(feature: str) -> bool:
    return f" {feature} " in Path("/proc/cpuinfo").read_text()


@pytest.mark.parametrize("options", ["-O0", "-O3 -msse4.2", "-O3 -march=x86-64-v3 -ffast-math"])
def test_numeric_instructions_agree(tmp_path: Path, options: str) -> None:
    if "v3" in options and not processor_has("avx2"):
        pytest.skip("this processor has no AVX2")
    rec = record("agent_numeric.c", tmp_path, *options.split())
    ours, theirs = rec.replica(), rec.replica()
    for agent in (ours, theirs):
        agent.run(until_pc=rec.symbols["main"], until_n=1)
    reason = StopReason.TARGET
    while reason == StopReason.TARGET:
        a, b = ours.step(97, trace=True), theirs.step(97, trace=True, real=True)
        assert (a.gpr, a.reason, a.trace) == (b.gpr, b.reason, b.trace)
        assert ours.get_regs() == theirs.get_regs()
        reason = a.reason
    assert reason == StopReason.END
    assert ours.hash() == theirs.hash()
    rec.close()


def test_shifts_agree_in_every_flag(tmp_path: Path) -> None:
    """OF after a shift by more than one is the processor's own choice, and may differ by form."""
    rec = record("agent_shifts.c", tmp_path)
    ours, theirs = rec.replica(), rec.replica()
    for agent in (ours, theirs):
        agent.run(until_pc=rec.symbols["all_forms"], until_n=1)
    for _ in range(2 * 7 * 4 * 13 * 4 * 6 // 500):
        a, b = ours.step(500, trace=True), theirs.step(500, trace=True, real=True)
        assert (a.gpr, a.trace) == (b.gpr, b.trace)
    assert ours.hash() == theirs.hash()
    rec.close()


def test_no_trap_flag_in_the_program(rec: Recorded) -> None:
    for real in (False, True):
        agent = rec.replica()
        agent.run(until_pc=rec.symbols["push_flags"], until_n=1)
        assert agent.step(10, real=real).gpr.eflags & 0x100 == 0
        assert rec.value(agent, "flags_seen") & 0x100 == 0
        assert rec.value(agent, "flags_seen") & 2


def test_repeated_string_instruction_is_one_step(rec: Recorded) -> None:
    for real in (False, True):
        agent = rec.replica()
        agent.set_break(1, rec.symbols["copy"])
        assert agent.run().reason == StopReason.BREAK
        stop = agent.step(1, real=real)
        assert (stop.gpr.rip, stop.gpr.rcx) == (rec.symbols["copied_all"], 0)
        assert agent.read(rec.symbols["copied"], 20000) == b"x" * 20000
        assert agent.counts(1) == (1, 1)


def test_trace_keeps_the_newest(rec: Recorded) -> None:
    agent = rec.replica()
    whole = [agent.step(1, trace=True).trace[0] for _ in range(50)]
    again = rec.replica().step(50, trace=True)
    assert again.trace == whole
    long = rec.replica().step(5000, trace=True)
    assert 500 < len(long.trace) < 1000
    short = rec.replica()
    short.step(4999)
    assert short.get_regs().gpr == long.trace[-1]


def test_what_was_before_a_traced_step_is_asked_for_later(rec: Recorded) -> None:
    agent = rec.replica()
    steps = agent.step(5000, trace=True).steps
    for step in (0, 1, 2500, steps - 1):
        there = rec.replica()
        there.step(step)
        gpr = there.get_regs().gpr
        assert agent.traced(step)[0] == gpr
        assert agent.traced_at(gpr.rip, step + 1) == step
        if step >= agent.undo_first():
            at = gpr.rsp - 512
            assert agent.read(at, 1024, before=step) == there.read(at, 1024)
    assert agent.undo_first() < steps
    assert (agent.traced_at(0, steps), agent.traced_at(1, steps)) == (None, None)
    with pytest.raises(AgentError):
        agent.traced(steps)


def test_breakpoints_while_stepping(rec: Recorded) -> None:
    fact = rec.symbols["fact"]
    agent = rec.replica()
    agent.run(until_pc=fact, until_n=1)
    agent.set_break(1, fact)
    stop = agent.step(1000)
    assert (stop.reason, stop.id, stop.gpr.rdi) == (StopReason.BREAK, 1, 4)
    stop = agent.step(40, blind=True)
    assert (stop.reason, stop.steps) == (StopReason.TARGET, 40)
    assert agent.counts(1)[0] > 1


# ---- watchpoints ----


def watch_stops(rec: Recorded, slow: bool) -> list[tuple[int, int, int, int, int]]:
    agent = rec.replica()
    agent.run(until_pc=rec.symbols["fact"], until_n=1)
    hardware = agent.watch(1, rec.symbols["same"], 8)
    assert agent.watch(2, rec.symbols["buffer"], 8) == hardware
    agent.watch(3, rec.symbols["last_word"], 8)
    if slow:  # more than the processor can hold
        assert not agent.watch(4, rec.symbols["source"], 64)
    found = []
    while (stop := agent.run()).reason == StopReason.WATCH:
        found.append((stop.id, stop.addr, stop.event, stop.gpr.rip, stop.by_event))
    assert stop.reason == StopReason.END
    return found


def test_watchpoints_stop_on_change_only(rec: Recorded) -> None:
    native, slow = watch_stops(rec, False), watch_stops(rec, True)
    assert native == slow
    assert [(id_, addr, by_event) for id_, addr, _, _, by_event in native] == [
        (1, rec.symbols["same"], 0),  # same = same and the second same = 7 change nothing
        (2, rec.symbols["buffer"], 1),
        (3, rec.symbols["last_word"], 0),
    ]


def test_watch_scan_and_hits(rec: Recorded) -> None:
    agent = rec.replica()
    agent.watch(1, rec.symbols["sum"], 8)
    stop = agent.run(until_pc=rec.symbols["fact"], until_n=1, scan=True)
    # i = 0 adds nothing
    assert (stop.scan.id, stop.scan.total, stop.scan.hits, stop.scan.by_event) == (1, 999, 999, 0)
    again = rec.replica()
    again.watch(1, rec.symbols["sum"], 8)
    for _ in range(10):
        hit = again.run()
    assert (hit.reason, rec.value(again, "sum")) == (StopReason.WATCH, sum(range(11)))
    stepped = rec.replica()
    stepped.watch(1, rec.symbols["sum"], 8)
    for _ in range(10):
        found = stepped.step(10**6)
    assert (found.reason, found.gpr) == (StopReason.WATCH, hit.gpr)
    stepped.unwatch(1)
    assert stepped.run().reason == StopReason.END


def test_watch_for_reads(rec: Recorded) -> None:
    for slow in (False, True):
        agent = rec.replica()
        agent.run(until_pc=rec.symbols["fact"], until_n=1)
        agent.watch(1, rec.symbols["same"], 8, WatchKind.ACCESS)
        if slow:
            agent.watch(2, rec.symbols["source"] + 4096, 64)
        stops = [agent.run() for _ in range(4)]
        # same = same reads, then writes; then two writes of 7
        assert [stop.reason for stop in stops] == [StopReason.WATCH] * 4
        assert [stop.by_event for stop in stops] == [0] * 4
        assert agent.run().reason == StopReason.END


def test_watch_wide_and_string(rec: Recorded) -> None:
    agent = rec.replica()
    agent.run(until_pc=rec.symbols["copy"], until_n=1)
    assert not agent.watch(1, rec.symbols["copied"] + 100, 100)
    stop = agent.run()
    assert (stop.reason, stop.gpr.rip) == (StopReason.WATCH, rec.symbols["copied_all"])
    assert stop.addr == rec.symbols["copied"] + 100
    native = rec.replica()
    native.run(until_pc=rec.symbols["copy"], until_n=1)
    if native.watch(1, rec.symbols["copied"] + 104, 8):
        stop = native.run()
        assert (stop.reason, stop.gpr.rip) == (StopReason.WATCH, rec.symbols["copied_all"])


# ---- life ----


def test_fork(rec: Recorded) -> None:
    agent = rec.replica()
    agent.set_break(1, rec.symbols["fact"])
    agent.watch(2, rec.symbols["same"], 8)
    agent.run()
    child = agent.fork()
    assert child.hello().pid == child.pid != agent.pid
    assert child.get_regs() == agent.get_regs()
    assert child.hash() == agent.hash()
    assert child.run().reason == StopReason.END  # neither breakpoint nor watchpoint
    assert agent.get_regs().gpr.rip == rec.symbols["fact"]
    grandchild = child.fork()
    assert grandchild.run().reason == StopReason.END
    assert agent.run().gpr.rdi == 4
    agent.close()
    deadlines.wait_for("its end", lambda: gone(agent.pid))
    assert child.hash() == grandchild.hash()  # lives on
    for one in (child, grandchild):
        one.close()
        deadlines.wait_for("its end", lambda pid=one.pid: gone(pid))  # type: ignore[misc]


def test_end_of_a_replica_is_an_error(rec: Recorded) -> None:
    agent = rec.replica()
    os.kill(agent.pid, signal.SIGKILL)
    with pytest.raises(AgentGone):
        agent.hash()
    other = rec.replica()
    other.exit()
    deadlines.wait_for("its end", lambda: gone(other.pid))


def test_end_of_a_forked_replica_is_noticed(rec: Recorded) -> None:
    agent = rec.replica()
    child = agent.fork()  # the parent, which has been asked nothing since, is not in the way
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(AgentGone, match="without a word"):
        child.hash()
    assert agent.hash()


def test_output(rec: Recorded) -> None:
    agent = rec.replica()
    agent.output_on(True)
    last = agent.run().event
    pieces = agent.output_fetch()
    assert [piece.data for piece in pieces] == [b"from an event", b"1000 499500 from an event\n"]
    assert pieces[1] == Output(last, 1, pieces[1].data)
    assert agent.output_fetch() == []


def test_output_of_several_parts(tmp_path: Path) -> None:
    made = record("written_parts.c", tmp_path)
    agent = made.replica()
    agent.output_on(True)
    agent.run()
    pieces = [piece.data for piece in agent.output_fetch()]
    made.close()
    assert pieces == [b"one", b" two"] * 3 + [b"three", b"four"]


def test_fault(fault: Recorded) -> None:
    agent = fault.replica()
    stop = agent.run()
    assert (stop.reason, stop.signal, stop.addr) == (StopReason.FAULT, signal.SIGSEGV, 0)
    again = agent.run()
    assert (again.reason, again.gpr) == (stop.reason, stop.gpr)
    assert agent.step(1).reason == StopReason.FAULT
    assert agent.step(1, real=True).gpr == stop.gpr


@pytest.mark.parametrize("stepping", [False, True])
def test_interrupt(fault: Recorded, stepping: bool) -> None:
    agent = fault.replica()
    agent.set_break(1, fault.symbols["main"])
    agent.run()
    agent.interrupt()  # not moving: nothing happens
    timer = threading.Timer(0.05, agent.interrupt)
    timer.start()
    stop = agent.step(2**60) if stepping else agent.run()
    timer.join()
    assert stop.reason == StopReason.INTERRUPT
    # it can go on from there
    turns = fault.value(agent, "turns")
    assert 0 < turns < 1500000000
    os.kill(agent.pid, signal.SIGUSR1)  # for the motion that is over
    stop = agent.run(until_pc=stop.gpr.rip, until_n=1000)
    assert stop.reason == StopReason.TARGET
    agent.step(100)
    assert fault.value(agent, "turns") > turns
