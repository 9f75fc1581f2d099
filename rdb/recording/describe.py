"""An event in words, from the log alone."""

from __future__ import annotations

import errno
import json
import os
import struct
from functools import cache
from typing import Any

from rdb.paths import mpi_functions_path
from rdb.recording.record import Kind, Note, Record, signal_name
from rdb.recording.syscalls import SYSCALLS

_NAMESPACE_MPI = 1  # RDB_NS_MPI in interposer/gate.h
_AT_FDCWD = -100
_NOTE_RECV = struct.Struct("<iiIIQ")


def describe(record: Record) -> str:
    """One line; repetitions are said."""
    text = _describe(record)
    return f"{text} [{record.repeat + 1} times]" if record.repeat else text


def _describe(record: Record) -> str:
    match record.kind:
        case Kind.START:
            return "start of the program"
        case Kind.SYSCALL:
            return _syscall(record)
        case Kind.HYPERCALL:
            return _hypercall(record)
        case Kind.UPCALL:
            return f"call of {record.args[0]:#x} by a library"
        case Kind.SIGNAL:
            return f"{signal_name(record.nr)} delivered"
        case Kind.TSC:
            return f"{'rdtscp' if record.nr else 'rdtsc'} = {record.result & 0xFFFFFFFFFFFFFFFF}"
        case _:
            return record.kind.name.lower()


def _syscall(record: Record) -> str:
    name, signature = SYSCALLS.get(record.nr, (f"syscall_{record.nr}", None))
    if signature is None:
        arguments = "..."
    else:
        arguments = ", ".join(map(_argument, signature, record.args))
    if name in ("exit", "exit_group", "rt_sigreturn"):
        return f"{name}({arguments})"
    return f"{name}({arguments}) = {_result(record.result)}"


def _argument(letter: str, value: int) -> str:
    if letter in "da":
        # `int` arguments: the upper half of the register is not looked at by the kernel.
        low = value & 0xFFFFFFFF
        number = low - (1 << 32) if low >> 31 else low
        return "AT_FDCWD" if letter == "a" and number == _AT_FDCWD else str(number)
    if letter == "u":
        return str(value)
    if letter == "o":
        return f"{value & 0xFFFFFFFF:#o}"
    return f"{value:#x}" if value else "0"


def _result(value: int) -> str:
    if -4096 < value < 0:
        name = errno.errorcode.get(-value, str(-value))
        return f"-{name} ({os.strerror(-value)})"
    return f"{value:#x}" if value > 1 << 32 else str(value)


@cache
def _mpi_functions() -> dict[int, dict[str, Any]]:
    """Index -> {"name", "params"}; without MPI built there is no table, and nothing to describe."""
    path = mpi_functions_path()
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        return {int(index): entry for index, entry in json.load(file).items()}


def mpi_name(nr: int) -> str | None:
    """Name of the MPI function of a hypercall number."""
    if nr >> 16 != _NAMESPACE_MPI:
        return None
    entry = _mpi_functions().get(nr & 0xFFFF)
    return str(entry["name"]) if entry else None


def _hypercall(record: Record) -> str:
    name = mpi_name(record.nr)
    if name is None:
        return f"hypercall {record.nr >> 16}:{record.nr & 0xFFFF} = {record.result}"
    params = _mpi_functions()[record.nr & 0xFFFF]["params"]
    arguments = ", ".join(
        f"{param}={_mpi_argument(param, value)}"
        for param, value in zip(params, record.args, strict=False)
    )
    text = f"{name}({arguments})"
    if record.result:
        text += f" = {record.result}"
    return text + _messages(record)


def _mpi_argument(name: str, value: int) -> str:
    if name in ("source", "dest", "tag", "count", "root", "sendtag", "recvtag", "incount"):
        low = value & 0xFFFFFFFF
        number = low - (1 << 32) if low >> 31 else low
        if number == -1 and name in ("source", "tag", "recvtag"):
            return "ANY"
        return str(number)
    return f"{value:#x}" if value > 9 else str(value)


def _messages(record: Record) -> str:
    said = []
    for chunk in record.chunks:
        if chunk.addr == 0 and chunk.note in (Note.RECV, Note.SEND):
            peer, tag, _, _, size = _NOTE_RECV.unpack_from(chunk.data)
            way = "from" if chunk.note == Note.RECV else "to"
            who = f"rank {peer}" if peer >= 0 else "an unknown rank"
            said.append(f" {way} {who}, tag {tag}, {size} bytes")
    return ";".join(said)
