"""Calls of a function as raw bytes that the server has collected with several replicas.

The server is told once where arguments and result are: at a fixed offset in the frame, or in a
register.  The bytes of each call are then shown as values of the arguments' types.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from typing import Any

import gdb

from ..values.blocks import function_block
from ..values.returned import AGGREGATES, IN_RAX, REFERENCES, shown, small
from .watched import too_large

_GENERAL = (
    *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
)
_TEXT = 17  # bytes of a string; more than are shown
_FRAME_MAX = 4096
_PLAIN = (
    *(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR),
    gdb.TYPE_CODE_FLT,
)
_CHARS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR)


class NotPlain(Exception):
    """The bytes of a call are not at fixed places."""


def unpacked(rows: str) -> list[dict[str, Any]]:
    """The calls that rdb/server/calling.py has packed."""
    calls: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(rows)))
    return calls


class Plan:
    """What the server must take at each call, and what these bytes mean.

    Made at a frame of the first call.  Raises NotPlain.
    """

    def __init__(self, frame: Any) -> None:
        older, function = frame.older(), frame.function()
        if frame.type() != gdb.NORMAL_FRAME or older is None or function is None:
            raise NotPlain
        if gdb.parameter("print object") or gdb.parameter("print vtbl"):
            raise NotPlain
        self.name = frame.name()
        self.pc = frame.pc()
        self.back = older.pc()
        self._file = function.symtab.filename
        self._frame = int(older.read_register("rsp"))
        self._sp = int(frame.read_register("rsp"))
        self._base = int(frame.read_register("rbp"))
        self._low, self._high, self._vector = -8, 0, 0
        self._texts: list[tuple[str, int]] = []
        self._arguments: list[tuple[str, Callable[[dict[str, Any]], str]]] = []
        block = function_block(frame.block())
        for symbol in block:
            if symbol.is_argument:
                self._arguments.append((symbol.name, self._argument(frame, symbol, block)))
        self._result = function.type.target().strip_typedefs()
        _result_is_plain(self._result, self._file)

    def options(self) -> dict[str, Any]:
        type_ = self._result
        at_rax = 0
        if _is_text(type_):
            at_rax = _TEXT
        elif type_.code in REFERENCES:
            at_rax = type_.target().sizeof
        elif type_.code in AGGREGATES and type_.sizeof > 16:
            at_rax = type_.sizeof
        return {
            "entry": self.pc,
            "frame": self._frame - self._sp,
            "has_base": self._frame - self._base == 16,
            "low": self._low,
            "high": self._high,
            "vector": self._vector,
            "texts": self._texts,
            "text_bytes": _TEXT,
            "result_bytes": at_rax,
            "result_vector": 2,
        }

    def _argument(self, frame: Any, symbol: Any, block: Any) -> Callable[[dict[str, Any]], str]:
        type_ = symbol.type.strip_typedefs()
        value = frame.read_var(symbol, block)
        if value.is_optimized_out:
            raise NotPlain
        text = _is_text(type_)
        if not text:
            _need_plain(symbol.type)
        size = type_.sizeof
        take: Callable[[dict[str, Any]], bytes]
        if value.address is not None:
            at = int(value.address) - self._frame
            if not -_FRAME_MAX <= at <= at + size <= _FRAME_MAX:
                raise NotPlain
            _need_frame_offset(symbol)
            self._low, self._high = min(self._low, at), max(self._high, at + size)
            place = ("", at)

            def take(entered: dict[str, Any]) -> bytes:
                start = at - self._low
                return bytes.fromhex(entered["memory"])[start : start + size]
        else:
            register = _register(symbol, self.pc)
            if register.startswith("xmm"):
                number = int(register[3:])
                self._vector = max(self._vector, number + 1)
                if size > 16:
                    raise NotPlain

                def take(entered: dict[str, Any]) -> bytes:
                    return bytes.fromhex(entered["vector"])[16 * number : 16 * number + size]
            else:
                if size > 8:
                    raise NotPlain

                def take(entered: dict[str, Any]) -> bytes:
                    return int(entered["registers"][register]).to_bytes(8, "little")[:size]

            place = (register, 0)
        if not text:
            return lambda entered: shown(gdb.Value(take(entered), symbol.type))
        index = len(self._texts)
        self._texts.append(place)
        return lambda entered: _text(symbol.type, take(entered), entered["texts"][index])

    def call(self, row: dict[str, Any]) -> str:
        entered = row["entered"]
        arguments = [f"{name}={show(entered)}" for name, show in self._arguments]
        return f"{self.name} ({', '.join(arguments)})"

    def result(self, row: dict[str, Any]) -> str:
        taken, type_ = row["returned"], self._result
        if taken is None:
            return "(did not return)"
        if type_.code == gdb.TYPE_CODE_VOID:
            return ""
        words = [taken["registers"][name] for name in ("rax", "rdx")]
        vector = bytes.fromhex(taken["vector"])
        if _is_text(type_):
            return _text(type_, words[0].to_bytes(8, "little"), taken["memory"])
        if type_.code in IN_RAX:
            return shown(gdb.Value(words[0] - (words[0] >> 63 << 64)).cast(type_))
        if type_.code == gdb.TYPE_CODE_FLT:
            return shown(gdb.Value(vector[: type_.sizeof], type_))
        if type_.code in REFERENCES:
            type_ = type_.target()
        elif type_.sizeof <= 16:
            vectors = [int.from_bytes(vector[at : at + 8], "little") for at in (0, 16)]
            return shown(small(type_, words, vectors))
        data = bytes.fromhex(taken["memory"])
        if len(data) < type_.sizeof:
            raise NotPlain
        return shown(gdb.Value(data, type_))


def _is_text(type_: Any) -> bool:
    if type_.code != gdb.TYPE_CODE_PTR:
        return False
    target = type_.target().strip_typedefs()
    return target.code in _CHARS and target.sizeof == 1


def _need_plain(type_: Any) -> None:
    """Raises NotPlain if GDB shows more of such a value than its own bytes."""
    if too_large(type_):
        raise NotPlain
    if gdb.default_visualizer(gdb.Value(bytes(type_.sizeof), type_)) is not None:
        raise NotPlain
    type_ = type_.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_PTR:
        target = type_.target().strip_typedefs()
        if target.code in _CHARS:
            wide = target.sizeof == 1 or re.search(r"char|wchar", str(type_.target()))
            if wide:
                raise NotPlain
        return
    if type_.code == gdb.TYPE_CODE_ARRAY:
        _need_plain(type_.target())
        return
    if type_.code in AGGREGATES:
        for field in type_.fields():
            if not hasattr(field, "bitpos"):
                continue  # a static member is not in the value's bytes
            if field.is_base_class:
                raise NotPlain
            _need_plain(field.type)
        return
    if type_.code not in _PLAIN:
        raise NotPlain


def _result_is_plain(type_: Any, file: str) -> None:
    if type_.code == gdb.TYPE_CODE_VOID or _is_text(type_):
        return
    if type_.code in REFERENCES:
        raise NotPlain
    _need_plain(type_)
    if type_.code == gdb.TYPE_CODE_FLT and type_.sizeof not in (4, 8):
        raise NotPlain
    if type_.code in IN_RAX and type_.sizeof > 8:
        raise NotPlain
    if type_.code in AGGREGATES:
        if not file.endswith(".c"):
            raise NotPlain
        if type_.sizeof <= 16 and small(type_, [0, 0], [0, 0]) is None:
            raise NotPlain
    if type_.code not in (*IN_RAX, *AGGREGATES, gdb.TYPE_CODE_FLT):
        raise NotPlain


def _described(symbol: Any) -> str:
    return str(gdb.execute(f"info address {symbol.name}", to_string=True))


def _need_frame_offset(symbol: Any) -> None:
    """Raises NotPlain unless the address is the frame's base plus a constant (DW_OP_fbreg)."""
    text = _described(symbol)
    operations = re.findall(r"^ *\d+: (DW_OP_\w+)", text, re.MULTILINE)
    if operations != ["DW_OP_fbreg"] or "Range" in text:
        raise NotPlain


def _register(symbol: Any, pc: int) -> str:
    text = _described(symbol)
    found = re.search(r" is a variable in \$(\w+)\.$", text.strip())
    if found:
        name = found[1]
    else:
        ranges = re.findall(r"Range (0x\w+)-(0x\w+): a variable in \$(\w+)$", text, re.MULTILINE)
        here = [name for low, high, name in ranges if int(low, 16) <= pc < int(high, 16)]
        if len(here) != 1:
            raise NotPlain
        name = here[0]
    if name not in _GENERAL and not re.fullmatch(r"xmm([0-9]|1[0-5])", name):
        raise NotPlain
    return name


def _text(type_: Any, pointer: bytes, data: str) -> str:
    """A pointer to characters as GDB shows it."""
    address = int.from_bytes(pointer, "little")
    if not address:
        return shown(gdb.Value(pointer, type_))
    where = shown(gdb.Value(pointer, gdb.lookup_type("void").pointer()))
    raw = bytes.fromhex(data)
    if not raw:
        return f"{where} <error: Cannot access memory at address {address:#x}>"
    if b"\0" not in raw and len(raw) < _TEXT:
        raise NotPlain
    raw = raw.partition(b"\0")[0] + b"\0" if b"\0" in raw else raw
    element = type_.strip_typedefs().target().unqualified()
    return f"{where} {shown(gdb.Value(raw, element.array(len(raw) - 1)))}"
