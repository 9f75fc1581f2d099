"""The position that GDB sees, and telling GDB that it has changed.

A seek bypasses GDB's execution control.  Registers, memory and watched values in GDB's caches are
then those of the old position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import gdb

from .. import link
from ..link import waiting
from ..values.own_frames import line_of
from . import scopes, threads

# Suffixes of gcc and clang: outlined OpenMP regions, parts, copies of functions.
_CLONE = re.compile(r"\.(_omp_fn|omp_outlined|constprop|isra|part|cold|lto_priv)\b.*")


def event_of(position: str) -> int:
    """The event of a position."""
    return int(position.partition(":")[0].partition("+")[0])


def seek(target: str) -> dict[str, Any]:
    """Moves the rank to START, END, a position or `@stop-point`, and updates GDB; the answer."""
    # Ctrl-C after the move would leave GDB with old caches.
    with link.calm():
        with waiting.Waiting("seek") as shown:
            answer = link.ask("seek", target, shown)
        forget(answer)
        rearm()
    return answer


@contextmanager
def and_back() -> Iterator[None]:
    """Context after which the rank, and the selected thread and frame, are what they were."""
    here, thread, level = link.ask("state"), threads.number(), 0
    with suppress(gdb.error):  # there may be no frame
        level = gdb.selected_frame().level()
    try:
        yield
    finally:
        seek(f"@{here['stop_point']}")
        if here["threaded"]:
            threads.select(thread)
        if level:  # unlike the command `frame`, this prints nothing in MI
            frame: gdb.Frame | None = gdb.newest_frame()
            while frame is not None and frame.level() < level:
                frame = frame.older()
            if frame is not None:
                frame.select()


_libraries = 0  # the server's fingerprint of the list of libraries that GDB has read


def libraries_are(answer: dict[str, Any]) -> None:
    """Notes that GDB has read the present list of loaded libraries."""
    global _libraries
    _libraries = answer["libraries"]


def forget(answer: dict[str, Any]) -> None:
    """Drops GDB's caches, and selects the thread that runs according to the server's answer."""
    # First: after each command GDB reads the selected thread, which may not exist here.
    threads.follow(answer)
    flush()
    if answer.get("libraries", _libraries) != _libraries:
        gdb.execute("sharedlibrary", to_string=True)
        libraries_are(answer)


def flush() -> None:
    """Drops GDB's caches of memory and registers."""
    gdb.execute("maintenance flush register-cache", to_string=True)
    gdb.execute("maintenance flush dcache", to_string=True)


def rearm() -> None:
    """Makes GDB read the old values of its watchpoints again, by disabling and enabling them.

    GDB would delete a watchpoint on a local that is out of scope here.  So it waits, disabled,
    until the rank is back in its frame.
    """
    for point in gdb.breakpoints() or ():
        if point.type not in scopes.WATCHES:
            continue
        waiting = scopes.waiting(point)
        if not point.enabled and not waiting:
            continue
        if point.enabled:
            point.enabled = False
        if scopes.in_scope(point):
            with scopes.selected(point):
                point.enabled = True
            scopes.back(point)
        elif not waiting:
            scopes.park(point)
            gdb.write(f"Watchpoint {point.number} is off: its frame does not exist here.\n")


def rearm_waiting() -> None:
    """Enables waiting watchpoints whose frame exists now."""
    for point in gdb.breakpoints() or ():
        if point.type in scopes.WATCHES and scopes.waiting(point) and scopes.in_scope(point):
            with scopes.selected(point):
                point.enabled = True
            scopes.back(point)


def show() -> None:
    """Prints the location and the displays, as GDB does when it stops."""
    text = gdb.execute("frame", to_string=True)
    gdb.write(text[text.index(" ") :].lstrip() if text.startswith("#") else text)
    gdb.execute("display")


def function() -> str | None:
    """The innermost frame's function as GDB shows it: at an inlined call, the caller's."""
    try:
        name: str | None = gdb.newest_frame().name()
    except gdb.error:
        return None
    return name


def other_inlined(wanted: str | None) -> bool:
    """Is another one of the inlined frames at this pc selected than WANTED?"""
    try:
        inlined = gdb.newest_frame().type() == gdb.INLINE_FRAME
        return inlined and gdb.selected_frame().name() != wanted
    except gdb.error:
        return False


def select_within(wanted: str | None) -> None:
    """Selects the frame of function WANTED among the inlined frames at this pc.

    After a seek GDB selects the innermost one, even if the inlined call has not been entered yet.
    """
    try:
        frame: gdb.Frame | None = gdb.newest_frame()
        while frame is not None and frame.name() != wanted:
            frame = frame.older() if frame.type() == gdb.INLINE_FRAME else None
        if frame is not None:
            frame.select()
    except gdb.error:
        return  # there is no frame


def where() -> dict[str, Any]:
    """Function, file and line of the innermost frame; None: not known."""
    try:
        frame = gdb.newest_frame()
        symtab, number = line_of(frame)
        function = plain(frame.name())
        file = symtab.fullname() if symtab else None
        line = number if symtab else None
    except gdb.error:
        return {"function": None, "file": None, "line": None}
    return {"function": function, "file": file, "line": line}


def plain(name: str | None) -> str | None:
    """The function's own name for a compiler's clone, such as `_ZL4EvalPd._omp_fn.1`."""
    if name is None or not (name.startswith("_Z") or _CLONE.search(name)):
        return name
    text = str(gdb.execute(f"demangle -l gnu-v3 -- {_CLONE.sub('', name)}", to_string=True)).strip()
    return _CLONE.sub("", name) if text.startswith("Can't") else text.partition("(")[0]


def short() -> str:
    """Short text of the innermost frame's place: `heat.c:31`, `write`, `0x7f...`."""
    try:
        frame = gdb.newest_frame()
        symtab, line = line_of(frame)
        if symtab:
            return f"{symtab.filename.rsplit('/', 1)[-1]}:{line}"
        return frame.name() or hex(frame.pc())
    except gdb.error:
        return "?"
