"""Threads and frames of CPython, read from the memory of the program that runs it.

Only symbols that each extension module links to are needed.  3.13 has a table of most offsets
(`_Py_DebugOffsets`, Include/internal/pycore_runtime.h); 3.11 and 3.12 have one layout each.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gdb

from .. import link
from . import symbols

_PAGE = 4096
_WRITABLE = 2
_MOST_MEMORY = 256 << 20  # bytes that are searched, at most
_MOST = 10_000  # threads, frames: a longer list is damaged


class Unreadable(gdb.error):
    """Python's objects cannot be read here."""


class Unsuited(Unreadable):
    """The object exists, but rdb cannot compute with it, perhaps nowhere."""


class NotRunning(Unreadable):
    """No Python code runs here."""


class NoVariable(Unreadable):
    """No running function or module has a variable NAME."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


@dataclass(frozen=True)
class Layout:
    interpreters: int = 40
    threads: int = 72
    next_thread: int = 8
    thread_id: int = 136
    innermost: int = 56  # in a thread: its frame or, if CFRAME is given, its _PyCFrame
    cframe: tuple[int, int] | None = (0, 8)  # _PyCFrame: current_frame, previous
    code: int = 0
    previous: int = 8
    globals: int = 24
    locals: int = 40
    instruction: int = 56
    owner: int = 70
    localsplus: int = 72
    entry: int | None = None  # 3.11: flag of a frame that C has called
    filename: int = 112
    qualname: int = 128
    names: int = 96
    kinds: int = 104
    linetable: int = 136
    first_line: int = 68
    bytecode: int = 192
    text: tuple[int, int] = (40, 56)  # characters in a str: ASCII, other
    values: int = 0  # _dictvalues
    cached_keys: int = 880
    signed_size: bool = False  # int: the sign is in the number of digits, not in a tag


_LAYOUTS = {
    (3, 11): Layout(
        threads=16, thread_id=152, cframe=(8, 16), code=32, previous=48, globals=8, locals=24,
        owner=69, entry=68, first_line=72, bytecode=184, text=(48, 72), cached_keys=872,
        signed_size=True,
    ),
    (3, 12): Layout(),
    (3, 13): Layout(cframe=None, bytecode=200, values=8),
}  # fmt: skip
# Members of the 3.13 layout -> offset in _Py_DebugOffsets.
_SAID = {
    "interpreters": 40, "threads": 72, "next_thread": 168, "innermost": 184, "thread_id": 192,
    "previous": 232, "code": 240, "instruction": 248, "localsplus": 256, "owner": 264,
    "filename": 280, "qualname": 296, "linetable": 304, "first_line": 312, "names": 328,
    "kinds": 336, "bytecode": 344,
}  # fmt: skip
_COOKIE = b"xdebugpy"
_OF_C = 3  # owner FRAME_OWNED_BY_CSTACK, from 3.12 on: C has called Python here
_HIDDEN = 0x40 | 0x80  # CO_FAST_CELL, CO_FAST_FREE


class Noticed:
    """Memory read since `begin`: fetched pages, and the parts of them that were needed."""

    def __init__(self) -> None:
        self.fetched: dict[tuple[int, int], None] = {}
        self.needed: dict[tuple[int, int], None] = {}

    def begin(self) -> None:
        self.fetched.clear()
        self.needed.clear()

    def back_to(self, count: int) -> None:
        """Keeps only the first COUNT needed parts: later reads do not affect the result."""
        while len(self.needed) > count:
            self.needed.popitem()


noticed = Noticed()


class Interpreter:
    """The interpreter at the position; caches what it has read.  Methods raise Unreadable."""

    def __init__(self, runtime: int, version: int) -> None:
        self._pages: dict[int, bytes] = {}
        self.slots: list[int] = []
        """Addresses of the references through which objects were read (by name, key or index)."""
        self._inferior = gdb.selected_inferior()
        self._runtime = runtime
        self.version = (version >> 24, version >> 16 & 255)
        self.layout = self._layout()

    def _layout(self) -> Layout:
        layout = _LAYOUTS.get(self.version)
        if layout is None:
            raise Unreadable(
                f"rdb reads the variables of Python 3.11 to 3.13, not of "
                f"{self.version[0]}.{self.version[1]}"
            )
        if self.version < (3, 13):
            return layout
        if self.read(self._runtime, 8) != _COOKIE:
            raise NotRunning("Python has not started yet")
        if self.word(self._runtime + 16):
            raise Unreadable("rdb cannot read the variables of a Python without GIL")
        said: dict[str, Any] = {n: self.word(self._runtime + at) for n, at in _SAID.items()}
        return replace(layout, **said)

    def read(self, address: int, size: int) -> bytes:
        try:
            if not 0 < size <= _PAGE:
                noticed.needed[address, size] = None
                return self._memory(address, size)
            page, at = divmod(address, _PAGE)
            found = self._in_page(page, at, size)
            if at + size > _PAGE:
                found += self._in_page(page + 1, 0, at + size - _PAGE)
            return found
        except (gdb.MemoryError, OverflowError):
            raise Unreadable("Python's objects cannot be read here") from None

    def _in_page(self, page: int, at: int, size: int) -> bytes:
        noticed.needed[page * _PAGE + at, min(size, _PAGE - at)] = None
        if page not in self._pages:
            self._pages[page] = self._memory(page * _PAGE, _PAGE)
        return self._pages[page][at : at + size]

    def _memory(self, address: int, size: int) -> bytes:
        noticed.fetched[address, size] = None
        return bytes(self._inferior.read_memory(address, size)) if size > 0 else b""

    def word(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")

    def referred(self, slot: int) -> int:
        """The object to which a reference points; 0: none."""
        self.slots.append(slot)
        return self.word(slot)

    def number(self, address: int, size: int = 4) -> int:
        return int.from_bytes(self.read(address, size), "little", signed=True)

    def chars(self, address: int) -> str:
        """The text at a char *."""
        found = b""
        while b"\0" not in found and len(found) < _PAGE:
            found += self.read(address + len(found), 16 - (address + len(found)) % 16)
        return found.partition(b"\0")[0].decode("utf-8", "replace")

    def text(self, address: int) -> str:
        """Text of a str; empty if it cannot be a name."""
        return self.whole_text(address, _PAGE) or ""

    def whole_text(self, address: int, most: int) -> str | None:
        """Text of a str; None: it has more than MOST characters, or is not a compact str (nearly
        all are)."""
        length, _, state = struct.unpack("<QQi", self.read(address + 16, 20))
        if length > most or not state & 32:
            return None
        ascii_at, at = self.layout.text
        if state & 64:
            return self.read(address + ascii_at, length).decode("ascii", "replace")
        size = state >> 2 & 7
        coding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}.get(size, "ascii")
        return self.read(address + at, length * size).decode(coding, "replace")

    def has(self, wanted: str) -> bool:
        """Is there a str with that text?  Each variable's name is one.

        True also if there is too much memory to search.
        """
        if not wanted.isascii():
            return True
        stack = int(gdb.newest_frame().read_register("rsp"))
        maps = [one for one in link.ask("maps")["maps"] if one[2] & _WRITABLE]
        maps = [(at, end) for at, end, _ in maps if not at <= stack < end]
        if sum(end - at for at, end in maps) > _MOST_MEMORY:
            return True
        return any(self._has(at, end, wanted) for at, end in maps)

    def _has(self, at: int, end: int, wanted: str) -> bool:
        pattern = wanted.encode("ascii") + b"\0"
        while end - at >= len(pattern):
            try:
                found = self._inferior.search_memory(at, end - at, pattern)
            except gdb.error:
                return True  # a part cannot be read
            if found is None:
                return False
            try:
                if self.text(found - self.layout.text[0]) == wanted:
                    return True
            except (Unreadable, UnicodeDecodeError):
                pass  # no str
            at = found + 1
        return False

    def many(self, address: int) -> list[int]:
        """The objects of a tuple."""
        count = self.word(address + 16)
        if count > _MOST:
            raise Unreadable("Python's objects are not consistent here")
        raw = self.read(address + 24, 8 * count)
        return [int.from_bytes(raw[at : at + 8], "little") for at in range(0, len(raw), 8)]

    def threads(self) -> Iterator[tuple[int, int]]:
        """(thread id, address of its state)."""
        interpreter = self.word(self._runtime + self.layout.interpreters)
        thread = self.word(interpreter + self.layout.threads) if interpreter else 0
        for _ in range(_MOST):
            if not thread:
                break
            yield self.word(thread + self.layout.thread_id), thread
            thread = self.word(thread + self.layout.next_thread)

    def frames(self, thread_id: int) -> Iterator[Frame]:
        """The frames of a thread, innermost first.  Raises NotRunning."""
        layout = self.layout
        thread = next((state for one, state in self.threads() if one == thread_id), None)
        if thread is None:
            raise NotRunning("this thread runs no Python code")
        at = self.word(thread + layout.innermost)
        cframe = 0
        if layout.cframe is not None:
            cframe, at = at, self.word(at + layout.cframe[0])
        waiting: list[Frame] = []  # frames whose caller in C is not known yet
        for _ in range(_MOST):
            if not at:
                break
            if self.read(at + layout.owner, 1)[0] == _OF_C:
                yield from (replace(one, caller=at) for one in waiting)
                waiting.clear()
            else:
                waiting.append(Frame(self, at, self.word(at + layout.code), cframe))
            if layout.entry is not None and self.read(at + layout.entry, 1)[0]:
                yield from waiting
                waiting.clear()
                assert layout.cframe is not None
                cframe = self.word(cframe + layout.cframe[1])
            at = self.word(at + layout.previous)
        yield from waiting


@dataclass(frozen=True)
class Frame:
    """A Python frame; CALLER: an address in the C frame that runs it."""

    interpreter: Interpreter
    address: int
    code: int
    caller: int

    def _of_code(self, offset: int) -> int:
        return self.interpreter.word(self.code + offset)

    @property
    def file(self) -> str:
        return self.interpreter.text(self._of_code(self.interpreter.layout.filename))

    @property
    def function(self) -> str:
        return self.interpreter.text(self._of_code(self.interpreter.layout.qualname))

    @property
    def first_line(self) -> int:
        return self.interpreter.number(self.code + self.interpreter.layout.first_line)

    @property
    def globals(self) -> int:
        return self.interpreter.word(self.address + self.interpreter.layout.globals)

    @property
    def locals(self) -> int:
        """The dict of the body of a class or module; 0: a function has none."""
        return self.interpreter.word(self.address + self.interpreter.layout.locals)

    def local(self, name: str) -> int | None:
        """The object of a local; 0: it has none yet; None: there is no such local."""
        layout, read = self.interpreter.layout, self.interpreter
        names = [read.text(one) for one in read.many(self._of_code(layout.names))]
        if name not in names:
            return None
        place = names.index(name)
        slot = self.address + layout.localsplus + 8 * place
        found = read.word(slot)
        kind = read.read(self._of_code(layout.kinds) + 32 + place, 1)[0]
        if found and kind & _HIDDEN and read.chars(read.word(read.word(found + 8) + 24)) == "cell":
            slot = found + 16
        return read.referred(slot)

    @property
    def line(self) -> int:
        """The line that runs (CPython, Objects/locations.md, describes the table)."""
        layout, read = self.interpreter.layout, self.interpreter
        here = read.word(self.address + layout.instruction) - (self.code + layout.bytecode)
        table = self._of_code(layout.linetable)
        entries = iter(read.read(table + 32, min(read.word(table + 16), 1 << 20)))
        at, line = 0, self.first_line
        for first in entries:
            kind, units = first >> 3 & 15, (first & 7) + 1
            if kind == 14 or kind == 13:
                delta = _varint(entries)
                line += -(delta >> 1) if delta & 1 else delta >> 1
                for _ in range(3 if kind == 14 else 0):
                    _varint(entries)
            elif kind != 15:
                line += kind - 10 if kind >= 10 else 0
                for _ in range(2 if kind >= 10 else 1):
                    next(entries, 0)
            at += 2 * units
            if here < at:
                break
        return line


def _varint(entries: Iterator[int]) -> int:
    found = shift = 0
    for one in entries:
        found |= (one & 63) << shift
        shift += 6
        if not one & 64:
            break
    return found


_known: tuple[Any, ...] | None = None
_runtime: tuple[int, int] | None = None


def running() -> tuple[int, int] | None:
    """Address of _PyRuntime and Py_Version of the program's CPython; None: it has none."""
    global _known, _runtime
    here = (symbols.program(), len(gdb.objfiles()))
    if here != _known:
        try:
            runtime = int(symbols.in_c("(long)&_PyRuntime"))
            version = int(symbols.in_c("*(unsigned long *)&Py_Version"))
            _runtime = (runtime, version)
        except gdb.error:
            _runtime = None  # no CPython, or one older than 3.11, which has no Py_Version
        _known = here
    return _runtime


def of_interpreter(symtab: Any) -> bool:
    """Is it a source file of CPython itself?"""
    found = running()
    if found is None:
        return False
    holder = gdb.solib_name(found[0]) or symbols.program()
    objfile = symtab.objfile
    return bool((objfile.owner or objfile).filename == holder)
