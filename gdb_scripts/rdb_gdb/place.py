"""Where GDB stands, and making it see that it stands elsewhere.

A seek goes to the server past GDB's own execution control, so what GDB remembers of registers,
memory and watched values is of the place that was left.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import link, scopes, threads, waiting

# What gcc and clang append: outlined regions of OpenMP, parts, copies.
_CLONE = re.compile(r"\.(_omp_fn|omp_outlined|constprop|isra|part|cold|lto_priv)\b.*")


def seek(target: str) -> dict[str, Any]:
    """Brings the rank to a position (START, END, a name, `@mark`) and GDB's eyes with it."""
    # Ctrl-C once the rank is elsewhere would leave GDB with what it remembers of here.
    with link.calm():
        with waiting.Waiting("seek") as shown:
            answer = link.ask("seek", target, shown)
        forget(answer)
        rearm()
    return answer


_libraries = 0  # the list that GDB has read, as the server tells lists apart


def libraries_are(answer: dict[str, Any]) -> None:
    """GDB has come here by itself: it has read the list of loaded libraries on its way."""
    global _libraries
    _libraries = answer["libraries"]


def forget(answer: dict[str, Any]) -> None:
    """Drops GDB's caches; selects the thread that runs where the server's answer says it is."""
    # First: after each command GDB looks at the selected thread, which may be gone here.
    threads.follow(answer)
    flush()
    if answer.get("libraries", _libraries) != _libraries:
        gdb.execute("sharedlibrary", to_string=True)
        libraries_are(answer)


def flush() -> None:
    """GDB asks anew for all that it needs of memory and registers."""
    gdb.execute("maintenance flush register-cache", to_string=True)
    gdb.execute("maintenance flush dcache", to_string=True)


def rearm() -> None:
    """Has GDB read the old values of its watchpoints again, by disabling and enabling them.

    One on a local that is out of scope here would be deleted by that: it waits, disabled, until
    one is back in its frame.
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
            gdb.write(f"Watchpoint {point.number} waits: its frame is not there here.\n")


def rearm_waiting() -> None:
    """Watchpoints that wait for their frame watch again if it is there now."""
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
    """The innermost frame's function, as GDB shows it: at an inlined call it is the caller's."""
    try:
        name: str | None = gdb.newest_frame().name()
    except gdb.error:
        return None
    return name


def other_inlined(wanted: str | None) -> bool:
    """Has `select_within` selected another one of the frames that are at the same place?"""
    try:
        inlined = gdb.newest_frame().type() == gdb.INLINE_FRAME
        return inlined and gdb.selected_frame().name() != wanted
    except gdb.error:
        return False


def select_within(wanted: str | None) -> None:
    """Selects the frame that GDB showed here: after a seek it starts in the innermost inlined one,
    also at a call that has not been entered yet."""
    try:
        frame = gdb.newest_frame()
        while frame is not None and frame.name() != wanted:
            frame = frame.older() if frame.type() == gdb.INLINE_FRAME else None
        if frame is not None:
            frame.select()
    except gdb.error:
        return  # no frame here: nothing to select


def where() -> dict[str, Any]:
    """Function, file and line of the innermost frame, None where not known."""
    try:
        frame = gdb.newest_frame()
        sal = frame.find_sal()
        function = plain(frame.name())
        file = sal.symtab.fullname() if sal.symtab else None
        line = sal.line if sal.symtab else None
    except gdb.error:
        return {"function": None, "file": None, "line": None}
    return {"function": function, "file": file, "line": line}


def plain(name: str | None) -> str | None:
    """A compiler's clone of a function by the function's own name: `_ZL4EvalPd._omp_fn.1`."""
    if name is None or not (name.startswith("_Z") or _CLONE.search(name)):
        return name
    text = str(gdb.execute(f"demangle -l gnu-v3 -- {_CLONE.sub('', name)}", to_string=True)).strip()
    return _CLONE.sub("", name) if text.startswith("Can't") else text.partition("(")[0]


def short() -> str:
    """The innermost frame's place in a word: `heat.c:31`, `write`, `0x7f...`."""
    try:
        frame = gdb.newest_frame()
        sal = frame.find_sal()
        if sal.symtab:
            return f"{sal.symtab.filename.rsplit('/', 1)[-1]}:{sal.line}"
        return frame.name() or hex(frame.pc())
    except gdb.error:
        return "?"
