"""calls: all calls of a function, with arguments and result.

The server runs from call to call and from return to return with its own breakpoints, and GDB
evaluates at each position.  GDB does not resume the program, so front ends see no stops.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gdb

from .. import link
from ..search import collected, searching
from ..state import history, place
from ..values import prologue
from ..values.blocks import function_block
from ..values.own_frames import own_file
from ..values.returned import returned, shown
from .command import Command, command, typed

_LIMIT = 200
_NAMED = re.compile(r"\d+:0x[0-9a-f]+:(?!1$)\d+")  # the first arrival may have a shorter name


@dataclass
class Call:
    """A call; `stack` is the stack pointer after the function has returned."""

    position: str
    pc: int
    text: str
    caller: str
    stack: int
    function: Any
    result: str = "(did not return)"


@command("calls", gdb.COMMAND_DATA)
class Calls(Command):
    """List the calls of a function: calls FUNCTION [--from POS] [--to POS] [--limit N]
    Shows for each call its arguments, its result, the position where it begins (behind the
    function's prologue), which `goto` takes, and where it was called from.  The whole recording is
    searched; at most N calls (200) are shown.  POS is as for `goto`.  All processors search, or
    --jobs N, where arguments and result are at fixed places; else the search goes call by call.
    Ctrl-C shows what was found by then."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        usage = "calls FUNCTION [--from POSITION] [--to POSITION] [--limit N] [--jobs N]"
        options = searching.Options(argument, usage, values="--from --to --limit --jobs")
        function = options.need_text()
        link.connection()
        log = history.log
        log.settle()
        start = log.current
        assert start is not None
        if start.branch:
            raise gdb.GdbError("A search would lose the changes of this branch: `undo` first.")
        first, last = options.position("--from"), options.event("--to")
        search = _Search(options.count("--limit", _LIMIT), last)
        with log.command(typed("calls", argument)), link.calm():
            addresses = entries(function)
            try:
                place.seek(first or "START")
                if last is not None:
                    search.run(addresses)
                elif not search.collect(addresses, options.jobs):
                    _say_slow(function)
                    link.ask("calls-end")
                    place.seek(first or "START")
                    search.run(addresses)
            finally:
                link.ask("calls-end")
                place.seek(f"@{start.stop_point}")
        search.name()
        gdb.write(search.as_text(function))


def entries(function: str) -> list[int]:
    """Addresses at which GDB would break: after the prologue, where arguments are known.

    A library's function of that name counts only if the program has none.
    """
    point = gdb.Breakpoint(function, internal=True)
    try:
        if point.pending:
            raise gdb.GdbError(f'Function "{function}" not defined.')
        found = sorted({int(location.address) for location in point.locations})
        return [one for one in found if own_file(gdb.solib_name(one))] or found
    finally:
        point.delete()


_said: set[str] = set()


def _say_slow(function: str) -> None:
    if function not in _said:
        _said.add(function)
        gdb.write(
            f"{function}: not all arguments and results are at fixed places, so the search goes "
            "call by call, which is slower.\n",
            gdb.STDLOG,
        )


class _Search:
    def __init__(self, limit: int, last_event: int | None) -> None:
        self.calls: list[Call] = []
        self.more = self.interrupted = False
        self._limit = limit
        self._last_event = last_event
        self._pending: dict[int, Call] = {}  # number of the breakpoint at the return -> call
        self._progress = searching.Progress("calls")
        self._end = max(link.ask("info")["last_event"], 1)

    def collect(self, addresses: list[int], jobs: int | None) -> bool:
        """Lets the server search all calls with several replicas; False: it cannot."""
        if len(addresses) != 1:
            return False
        link.ask("calls-begin")
        answer = searching.ask("calls-next", add=[[1, addresses[0], None]], remove=[])
        self.interrupted = answer["interrupted"] or link.pressed()
        if self.interrupted or not answer["hit"]:
            return True
        place.forget(answer)
        try:
            frame = gdb.newest_frame()
            plan = collected.Plan(frame)
            first = _call_text(frame), searching.line_at(plan.back - 1)
            answer = searching.ask("calls", plan=plan.options(), limit=self._limit, jobs=jobs)
            calls = [
                Call(
                    row["position"],
                    plan.pc,
                    plan.call(row),
                    searching.line_at(row["back"] - 1),
                    0,
                    None,
                    plan.result(row),
                )
                for row in collected.unpacked(answer["rows"])
            ]
        except (collected.NotPlain, gdb.error):
            return self._stopped(answer)
        if not answer["plain"] or (calls and (calls[0].text, calls[0].caller) != first):
            return self._stopped(answer)
        self.calls, self.more = calls, answer["more"]
        self.interrupted = answer["interrupted"]
        return True

    def _stopped(self, answer: dict[str, Any]) -> bool:
        """Was the search interrupted?  Then it must not go on call by call."""
        self.interrupted = bool(answer["interrupted"])
        return self.interrupted

    def run(self, addresses: list[int]) -> None:
        """Goes from call to call until there are no more, or enough of them and all have
        returned."""
        add = [[number, addr, None] for number, addr in enumerate(addresses, start=1)]
        remove: list[int] = []
        next_number = len(addresses) + 1
        link.ask("calls-begin")
        try:
            while not self.more or self._pending:
                answer = searching.ask("calls-next", add=add, remove=remove)
                self.interrupted = answer["interrupted"] or link.pressed()
                if self.interrupted or not answer["hit"]:
                    return
                add, remove = [], []
                place.forget(answer)
                part = answer["event"] / self._end
                self._progress.say(part, f", {len(self.calls)} found")
                call = self._pending.pop(answer["hit"], None)
                if call is not None:
                    call.result = returned(call.function)
                    remove = [answer["hit"]]
                elif self._enough(answer["event"]):
                    remove = [number for number, _ in enumerate(addresses, start=1)]
                else:
                    back = self._entered(answer["position"])
                    if back is not None:
                        add = [[next_number, back, self.calls[-1].stack]]
                        # A waiting call at the same place was left by longjmp(3): it does not
                        # return.
                        remove = self._gone(self.calls[-1])
                        self._pending[next_number] = self.calls[-1]
                        next_number += 1
        finally:
            self._progress.end()

    def _enough(self, event: int) -> bool:
        if self._last_event is not None and event > self._last_event:
            self._pending.clear()
            self.more = True
            self._limit = -1
        elif len(self.calls) == self._limit:
            self.more = True
        return self.more

    def _entered(self, position: str) -> int | None:
        """Notes a call that has begun; its return address, or None."""
        frame = gdb.newest_frame()
        text, older = _call_text(frame), frame.older()
        call = Call(position, frame.pc(), text, "", 0, frame.function())
        self.calls.append(call)
        if older is None:
            call.result = "(not known)"  # the outermost frame has no return address
            return None
        call.caller = searching.line_at(older.pc() - 1)
        call.stack = int(older.read_register("rsp"))
        return int(older.pc())

    def _gone(self, newest: Call) -> list[int]:
        numbers = [n for n, call in self._pending.items() if call.stack == newest.stack]
        for number in numbers:
            del self._pending[number]
        return numbers

    def name(self) -> None:
        """Gives the first positions the names that `when` prints: as many as fit one packet, and as
        the server names quickly."""
        unnamed = [call for call in self.calls if not _NAMED.fullmatch(call.position)][:_LIMIT]
        pairs = [[call.position, call.pc] for call in unnamed]
        answer = searching.ask("names", positions=pairs)
        for call, name in zip(unnamed, answer["names"]):
            call.position = name

    def as_text(self, function: str) -> str:
        rows = [
            [str(number), call.position, call.text, call.result, call.caller]
            for number, call in enumerate(self.calls, start=1)
        ]
        text = searching.table(["#", "position", "call", "result", "from"], rows) if rows else ""
        count = f"{len(rows)} call{'' if len(rows) == 1 else 's'}"
        if self.interrupted:
            return f"{text}{searching.INTERRUPTED}  {count}\n"
        if self.more and self._limit > 0:
            return f"{text}There are more: --from {rows[-1][1]}, or --limit N\n"
        return (
            f"{text}{count}\n"
            if rows
            else f"{function} is not called in this part of the recording.\n"
        )


def _call_text(frame: Any) -> str:
    name = frame.name() or hex(frame.pc())
    try:
        block = function_block(frame.block())
    except RuntimeError:
        return f"{name} (...)"  # no debugging information
    arguments = [
        f"{symbol.name}={_argument(frame, symbol, block)}" for symbol in block if symbol.is_argument
    ]
    return f"{name} ({', '.join(arguments)})"


def _argument(frame: Any, symbol: Any, block: Any) -> str:
    if prologue.unset([symbol.name]):
        return "..."
    try:
        return shown(frame.read_var(symbol, block))
    except gdb.error as error:
        return f"<{error}>"
