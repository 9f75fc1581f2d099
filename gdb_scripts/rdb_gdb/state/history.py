"""The command log: each command that changed something is an entry that can be undone.

At a prompt a command has ended: the differences from the last prompt are its effects, and GDB knows
its text.  A script (-x, `source`, MI) shows no prompts.  There GDB events end an entry: a stop, a
breakpoint made, changed or deleted, memory or a register written, a function called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import gdb

from .. import link
from . import branches, own, place, points, scopes, settings, snapshot
from .snapshot import Snapshot


@dataclass(frozen=True)
class Entry:
    text: str
    before: Snapshot
    after: Snapshot
    origin: str  # text of the place before
    place: str  # text of the place after


class History:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.done = 0  # entries[done:] are undone and can be redone
        self.current: Snapshot | None = None
        self.place = "?"  # text of the place of `current`
        self._group = 0  # entries from here on belong to the command at the prompt
        self._busy = False
        self.pending: str | None = None  # text for a change that is not noted yet

    def begin(self) -> None:
        """Starts an empty log: a rank was opened."""
        self.__init__()  # type: ignore[misc]
        branches.known.clear()
        self.current = snapshot.take()
        self.place = place.short()

    def resume(self, entries: list[Entry], done: int, where: str) -> None:
        """Takes over the log of another GDB of this rank, whose state was restored."""
        self.entries, self.done, self._group, self.place = entries, done, done, where
        self.current = snapshot.take()

    @property
    def active(self) -> bool:
        return self.current is not None and not self._busy

    def note(self, text: str, now: Snapshot | None = None) -> None:
        """Adds an entry if something has changed; NOW: the present state."""
        if self.current is None:
            return
        now = now or snapshot.take()
        text, self.pending = self.pending or text, None
        if now.same(self.current):
            # Selecting a thread cannot be undone, but undo restores the selection.  The same is
            # true of hits of breakpoints at which the program did not stop.
            self.current = replace(
                self.current, thread=now.thread, function=now.function, points=now.points
            )
            return
        if now.displays != self.current.displays:
            # No event reports displays: an earlier command has changed them.
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
        """Adds a change to the last entry."""
        if self.done == 0:
            return
        self.entries[self.done - 1] = replace(self.entries[self.done - 1], after=now)
        self.current = now

    def boundary(self, text: str | None) -> None:
        """A command has ended: joins the entries since the last boundary into one."""
        _hit.clear()
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
        """Context of a command of ours, which becomes one entry at its end."""
        self.settle()
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            with link.calm():  # Ctrl-C must not prevent the entry
                if self.current is not None and link.connected():
                    self.note(text)
                    self._group = self.done

    @contextmanager
    def travelling(self) -> Iterator[None]:
        """Context of undo and redo, which add no entry."""
        self.settle()
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            self._group = self.done

    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Context of changes that are changed back later, and add no entry."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def settle(self) -> None:
        """Adds changes that no event has reported, such as a new display in a script.

        Raises link.NotOurs if no recording is open.
        """
        if self.current is None:
            raise link.NotOurs
        self.note("(changed)")

    def undo(self, count: int) -> int:
        """Undoes COUNT entries; the number of entries that were undone, which may be higher."""
        first = max(self.done - count, 0)
        # Only some states of a branch are kept, so undo may have to go further back.
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
    events: Any = gdb.events  # before_prompt passes no event, other than the type stubs say
    events.stop.connect(_stopped)
    events.breakpoint_created.connect(_created)
    events.breakpoint_modified.connect(lambda point: _point(point, "changed"))
    events.breakpoint_deleted.connect(_deleted)
    events.memory_changed.connect(lambda event: _changed("(memory written)"))
    events.register_changed.connect(lambda event: _changed("(register written)"))
    events.inferior_call.connect(_called)
    events.before_prompt.connect(_prompt)
    others: Any = gdb.prompt_hook
    gdb.prompt_hook = lambda shown: _mark_prompt(others(shown) or shown if others else shown)


def _running() -> bool:
    thread = gdb.selected_thread()
    return thread is not None and thread.is_running()


def _usable() -> bool:
    """Is a rank open and stopped, and is the log active?"""
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
    # At this event the breakpoint is still in GDB's list.
    if not _usable():
        return
    now = snapshot.take(without=point.number)
    # Right after a stop GDB deletes temporary breakpoints and watchpoints without their frame.
    # A watchpoint with a frame that is deleted counts as temporary to GDB, whoever deletes it.
    is_watch = point.type in scopes.WATCHES
    gone = not scopes.in_scope(point) if is_watch else point.temporary
    if point.number in _hit and gone:
        log.amend(now)
    else:
        log.note(f"delete {point.number}", now)


def _called(event: Any) -> None:
    # GDB restores the registers only after this event, so the next event notes the change.
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
    """Number and text of the last typed command (`show commands`)."""
    lines = gdb.execute("show commands", to_string=True).rstrip("\n").splitlines()
    found = re.match(r"\s*(\d+)\s+(.*)$", lines[-1]) if lines else None
    return (found[1], found[2].strip()) if found else ("", "")
