"""The command log: each command that changed something is an entry that can be undone.

At a prompt one command has ended: what differs from the prompt before is its doing, and GDB knows
its text.  A script (-x, `source`, MI) shows no prompts; there GDB's own events end entries: a
stop, a breakpoint made, changed or deleted, memory or a register written, a function called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import gdb

from . import branches, link, own, place, points, scopes, settings, snapshot
from .snapshot import Snapshot


@dataclass(frozen=True)
class Entry:
    text: str
    before: Snapshot
    after: Snapshot
    origin: str  # where the rank stood before
    place: str  # where it stood afterwards


class History:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.done = 0  # entries[done:] are undone and can be redone
        self.current: Snapshot | None = None
        self.place = "?"  # of `current`, in a word
        self._group = 0  # entries from here on belong to the command at the prompt
        self._busy = False
        self.pending: str | None = None  # what an unnoted change is known to be

    def begin(self) -> None:
        """A rank has just been opened."""
        self.__init__()  # type: ignore[misc]
        branches.known.clear()
        self.current = snapshot.take()
        self.place = place.short()

    def resume(self, entries: list[Entry], done: int, where: str) -> None:
        """What another GDB of this rank has noted; everything is as it was there."""
        self.entries, self.done, self._group, self.place = entries, done, done, where
        self.current = snapshot.take()

    @property
    def active(self) -> bool:
        return self.current is not None and not self._busy

    def note(self, text: str, now: Snapshot | None = None) -> None:
        """Something may have changed: an entry if it did."""
        if self.current is None:
            return
        now = now or snapshot.take()
        text, self.pending = self.pending or text, None
        if now.same(self.current):
            # Selecting a thread is nothing to undo, but what undo comes back to.
            # So are hits of breakpoints that the program did not stop at.
            self.current = replace(
                self.current, thread=now.thread, function=now.function, points=now.points
            )
            return
        if now.displays != self.current.displays:
            # No event tells of displays: that was a command before the one that is noted now.
            shown = replace(self.current, displays=now.displays)
            if not now.same(shown):
                self._add("display", shown)
        if now.settings != self.current.settings:
            of = settings.changed(self.current.settings, now.settings)
            alone = replace(self.current, settings=now.settings)
            if not now.same(alone):
                self._add(f"set {of}" if of != "handle" else of, alone)
        printed = points.with_dprintfs_of(self.current.points, now.points)
        if printed != self.current.points:
            alone = replace(self.current, points=printed)
            if not now.same(alone):
                self._add("dprintf", alone)
        self._add(text, now)

    def _add(self, text: str, now: Snapshot) -> None:
        assert self.current is not None
        del self.entries[self.done :]
        self._group = min(self._group, self.done)
        origin, self.place = self.place, place.short()
        self.entries.append(Entry(text, self.current, now, origin, self.place))
        if now.branch:
            branches.note(text, self.current, f"event {self.current.event}, {origin}", now)
        self.done = len(self.entries)
        self.current = now

    def amend(self, now: Snapshot) -> None:
        """The last entry did that too."""
        if self.done == 0:
            return
        self.entries[self.done - 1] = replace(self.entries[self.done - 1], after=now)
        self.current = now

    def boundary(self, text: str | None) -> None:
        """A command has ended; what was noted since the last boundary is all its doing."""
        self.note(text or "(changed)")
        group = self.entries[self._group : self.done]
        if text and group:
            first = group[0]
            whole = replace(group[-1], text=text, before=first.before, origin=first.origin)
            if whole.after.branch and not whole.before.branch:
                branches.renamed(whole.after.branch, text)
            self.entries[self._group : self.done] = [whole]
            self.done = self._group + 1
        self._group = self.done

    @contextmanager
    def command(self, text: str) -> Iterator[None]:
        """A command of ours: events inside make no entries, at its end it is one itself."""
        self.settle()
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            with link.calm():  # what has been done is noted, whatever is pressed by now
                if self.current is not None and link.connected():
                    self.note(text)
                    self._group = self.done

    @contextmanager
    def travelling(self) -> Iterator[None]:
        """Undo and redo: they move along the entries and are none."""
        self.settle()
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            self._group = self.done

    def settle(self) -> None:
        """Notes what no event has told of, such as a new display in a script."""
        if self.current is None:
            raise link.NotOurs
        self.note("(changed)")

    def undo(self, count: int) -> int:
        """Back over `count` entries; gives how many it were."""
        first = max(self.done - count, 0)
        # Of a branch only so many states are kept, of one that was dropped none.
        while first > 0 and not branches.kept(self.entries[first].before):
            first -= 1
        undone = self.done - first
        if undone:
            self.current, told = snapshot.restore(self.entries[first].before)
            self.place = self.entries[first].origin
            if not told:
                gdb.write(f"Undid: {self.entries[first].text}\n")
            self.done = first
        return undone

    def redo(self, count: int) -> int:
        last = min(self.done + count, len(self.entries))
        redone = 0
        while last > self.done and not branches.kept(self.entries[last - 1].after):
            last -= 1
        redone = last - self.done
        self.done = last
        if redone:
            self.current, told = snapshot.restore(self.entries[self.done - 1].after)
            self.place = self.entries[self.done - 1].place
            if not told:
                gdb.write(f"Redid: {self.entries[self.done - 1].text}\n")
        return redone


log = History()


def watch() -> None:
    """Connects the log to GDB's events."""
    events = gdb.events
    events.stop.connect(_stopped)
    events.breakpoint_created.connect(_created)
    events.breakpoint_modified.connect(lambda point: _point(point, "changed"))
    events.breakpoint_deleted.connect(_deleted)
    events.memory_changed.connect(lambda event: _changed("(memory written)"))
    events.register_changed.connect(lambda event: _changed("(register written)"))
    events.inferior_call.connect(_called)
    events.before_prompt.connect(_prompt)
    others = gdb.prompt_hook
    gdb.prompt_hook = lambda shown: _mark_prompt(others(shown) or shown if others else shown)


def _running() -> bool:
    thread = gdb.selected_thread()
    return thread is not None and thread.is_running()


def _usable() -> bool:
    """Is there a rank to ask, and are we to listen?"""
    if not log.active:
        return False
    if not link.connected():
        log.current = None
        return False
    return not _running()


_hit: set[int] = set()  # breakpoints of the stop that was noted last


def _stopped(event: Any) -> None:
    _hit.clear()
    if not _usable():
        return
    place.rearm_waiting()
    if isinstance(event, gdb.BreakpointEvent):
        numbers = ", ".join(str(point.number) for point in event.breakpoints if point.is_valid())
        text = f"(to breakpoint {numbers})"
        _hit.update(point.number for point in event.breakpoints if point.is_valid())
    elif isinstance(event, gdb.SignalEvent):
        text = f"(to {event.stop_signal})"
    else:
        text = "(moved)"
    log.note(text)


def _created(point: Any) -> None:
    if not log.active or _running():
        return
    scopes.created(point)
    what = "watch" if point.type in scopes.WATCHES else "break"
    _changed(f"{what} {point.expression if what == 'watch' else point.location}")


def _point(point: Any, what: str) -> None:
    _changed(f"(breakpoint {point.number} {what})")


def _deleted(point: Any) -> None:
    # It is still among GDB's breakpoints while this is told.
    if not _usable():
        return
    now = snapshot.take(without=point.number)
    # GDB removes what was hit once, or has lost its frame, right after the stop.
    if point.number in _hit and (point.temporary or not scopes.in_scope(point)):
        log.amend(now)
    else:
        log.note(f"delete {point.number}", now)


def _called(event: Any) -> None:
    # GDB puts the registers back only after this has been told: it is noted by what comes next.
    if isinstance(event, gdb.InferiorCallPostEvent):
        log.pending = "(function called)"


def _changed(text: str) -> None:
    if _usable():
        log.note(text)


def _mark_prompt(shown: str) -> str | None:
    return branches.prompt(shown, log.current.branch if log.current is not None else 0)


_last_typed = ("", "")


def _prompt() -> None:
    global _last_typed
    if not _usable():
        return
    typed = _typed()
    log.boundary(typed[1] if typed[0] != _last_typed[0] else None)
    _last_typed = typed
    own.at_prompt()


def _typed() -> tuple[str, str]:
    """Number and text of the last command that was typed, as `show commands` has it."""
    lines = gdb.execute("show commands", to_string=True).rstrip("\n").splitlines()
    found = re.match(r"\s*(\d+)\s+(.*)$", lines[-1]) if lines else None
    return (found[1], found[2].strip()) if found else ("", "")
