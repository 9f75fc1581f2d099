"""Memory of the present stop by whole pages: it is read in many small pieces."""

from __future__ import annotations

from collections.abc import Callable

_PAGE = 4096
_MOST = 1024  # pages that are kept


class Pages:
    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        """READ: see `Timeline.read_memory`."""
        self._read = read
        self._serial = -1
        self._pages: dict[int, bytes] = {}

    def read(self, serial: int, addr: int, length: int) -> bytes:
        """As READ does, at the stop with the number SERIAL."""
        first = addr // _PAGE
        if (addr + length - 1) // _PAGE != first:
            return self._read(addr, length)
        if serial != self._serial or len(self._pages) >= _MOST:
            self.forget()
            self._serial = serial
        page = self._pages.get(first)
        if page is None:
            page = self._pages[first] = self._read(first * _PAGE, _PAGE)
        # else a part of the page is mapped, in a program that has smaller ones
        return page[addr % _PAGE :][:length] if len(page) == _PAGE else self._read(addr, length)

    def forget(self) -> None:
        """Call it before memory is written."""
        self._pages.clear()
