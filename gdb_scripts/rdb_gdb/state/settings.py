"""GDB's settings (`set print pretty on`, `handle`) as values that can be compared and restored."""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import signals

# Settings that GDB or the terminal changes by itself (pagination is off during the stop event),
# that only programs set, or that have nothing to do with debugging.
_LEFT_OUT = re.compile(
    r"(annotate|debug|editing|extended-prompt|height|history|interactive-mode|logging|pagination"
    r"|prompt|remote|remotetimeout|style|sysroot|trace-.*|tui|width)( |$)"
)
_HANDLE = "handle"  # stands for the settings of all signals
Settings = tuple[Any, ...]

_names: list[str] = []
_meant: dict[str, Any] = {}  # the user's values of settings that we have changed temporarily


def names() -> list[str]:
    if not _names:
        shown = gdb.execute("show", to_string=True)
        for name in re.findall(r"(?m)^([a-z][\w +-]*):  ", shown):
            if not _LEFT_OUT.match(name) and _is_parameter(name):
                _names.append(name)
        _names.append(_HANDLE)
    return _names


def _is_parameter(name: str) -> bool:
    try:
        gdb.parameter(name)
    except RuntimeError:  # a list such as `show user`
        return False
    return True


def for_the_moment(name: str, user_has: Any) -> None:
    """Keeps the user's value of a setting that we change temporarily; see `again`."""
    _meant[name] = user_has


def again(name: str) -> None:
    _meant.pop(name, None)


def current() -> Settings:
    return tuple(_meant[name] if name in _meant else _value(name) for name in names())


def _value(name: str) -> Any:
    return signals.current() if name == _HANDLE else gdb.parameter(name)


def changed(before: Settings, after: Settings) -> str:
    """Names of the settings that differ."""
    differ = zip(names(), before, after)
    return ", ".join(name for name, one, other in differ if one != other)


def restore(wanted: Settings) -> list[str]:
    """Restores settings; a message for each that differed."""
    said = []
    for name, value, now in zip(names(), wanted, current()):
        if value != now and name == _HANDLE:
            said += signals.restore(value, now)
        elif value != now:
            _set(name, value)
            said.append(f"{name} is {_word(value)} again.")
    return said


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "unlimited" if value is None else str(value)


def _set(name: str, value: Any) -> None:
    if value is None:
        # GDB's Python returns None for both.
        try:
            gdb.execute(f"set {name} unlimited", to_string=True)
        except gdb.error:
            gdb.execute(f"set {name} auto", to_string=True)
        return
    gdb.execute(f"set {name} {_word(value)}", to_string=True)
