"""The text that describes an event, from the log alone."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

from rdb.errors import VersionMismatch
from rdb.paths import mpi_functions_path
from rdb.recording.log.record import Kind, Note, Receive, Record, signal_name, signed32
from rdb.recording.log.syscalls import SYSCALLS
from rdb.recording.log.verbs_calls import describe_verbs, verbs_call, verbs_name

_NAMESPACE_MPI = 1  # RDB_NS_MPI in interposer/interface/gate.h
_CLOCK = 1  # RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK)
_AT_FDCWD = -100


# LOG_TSC, log_format.h
_INSTRUCTIONS = {0: "rdtsc", 1: "rdtscp", 2: "rdrand", 3: "rdseed"}
_CPUID = 4


def describe(record: Record, name_thread: bool = False, times: int | None = None) -> str:
    """One line about an event; with `name_thread` it begins with the number of the thread.

    `times`: how often the event happened; None: as often as the record says.
    """
    text = _describe(record)
    if name_thread and record.kind not in (Kind.RESUME, Kind.PREEMPT):
        text = f"thread {record.thread}: {text}"
    times = record.repeat + 1 if times is None else times
    return f"{text} [{times} times]" if times > 1 else text


def call_name(record: Record) -> str | None:
    """The name of the system call, MPI or verbs function that this event answered."""
    if record.kind is Kind.SYSCALL:
        return SYSCALLS.get(record.nr, (f"syscall_{record.nr}", None))[0]
    if record.kind is not Kind.HYPERCALL:
        return None
    return library_call(record.nr)


def library_call(nr: int) -> str | None:
    """The name of the MPI or verbs function of a hypercall number."""
    return mpi_name(nr) or verbs_name(nr)


def _describe(record: Record) -> str:
    match record.kind:
        case Kind.START:
            return "start of the program"
        case Kind.SYSCALL:
            return _syscall(record)
        case Kind.HYPERCALL:
            return _hypercall(record)
        case Kind.UPCALL:
            return f"a library calls the program's function at {record.args[0]:#x}"
        case Kind.SIGNAL:
            return f"{signal_name(record.nr)} delivered"
        case Kind.TSC:
            if record.nr == _CPUID:
                leaf, subleaf = record.args
                return f"cpuid(leaf={leaf:#x}, subleaf={subleaf:#x})"
            name = _INSTRUCTIONS.get(record.nr, "instruction")
            return f"{name} = {record.result & 0xFFFFFFFFFFFFFFFF}"
        case Kind.RESUME:
            return f"thread {record.thread} goes on"
        case Kind.PREEMPT:
            return f"thread {record.thread} stopped in a computation (switch)"
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
        number = signed32(value)
        return "AT_FDCWD" if letter == "a" and number == _AT_FDCWD else str(number)
    if letter == "l":
        return str(value - (1 << 64) if value >> 63 else value)
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


_TABLE_VERSION = 1  # of functions.json


@cache
def _mpi_table() -> dict[str, Any]:
    """The contents of functions.json; empty if rdb was built without MPI."""
    path = mpi_functions_path()
    if not path.exists():
        return {"functions": {}, "handles": {}}
    with path.open(encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    if table["version"] != _TABLE_VERSION:
        raise VersionMismatch(
            f"{path}: table of MPI functions v{table['version']}, this rdb reads v{_TABLE_VERSION}",
            "run `make dev`",
        )
    return table


def _mpi_function(nr: int) -> dict[str, Any] | None:
    if nr >> 16 != _NAMESPACE_MPI:
        return None
    function: dict[str, Any] | None = _mpi_table()["functions"].get(str(nr & 0xFFFF))
    return function


def mpi_functions() -> list[dict[str, Any]]:
    """Every MPI function: `name`, `params`, and `nr`, its hypercall number."""
    return [
        {**function, "nr": _NAMESPACE_MPI << 16 | int(number)}
        for number, function in _mpi_table()["functions"].items()
    ]


@cache
def mpi_constants() -> dict[str, int]:
    """Name -> value of predefined handles and of what stands for a rank, a tag or a colour."""
    handles = _mpi_table()["handles"].values()
    return {name: int(value) for names in handles for value, name in names.items()} | _CONSTANTS


def mpi_parameters(record: Record) -> dict[str, int]:
    """Arguments of an MPI call by name; handles are the stub's ids."""
    return mpi_arguments(record.nr, record.args)


def mpi_arguments(nr: int, args: Sequence[int]) -> dict[str, int]:
    """As `mpi_parameters`, for a call that may have no record."""
    function = _mpi_function(nr)
    if function is None:
        return {}
    return {
        name: value - (1 << 64) if value >> 63 else value
        for name, value in zip(function["params"], args, strict=False)
    }


_SIZES = {"int*": 4, "MPI_Count*": 8, "MPI_Aint*": 8, "MPI_Offset*": 8}


def mpi_results(nr: int) -> dict[str, int]:
    """Name of a parameter through which a call may return a number -> the number's size."""
    function = _mpi_function(nr)
    if function is None:
        return {}
    named = zip(function["params"], function["kinds"], strict=False)
    return {name: _SIZES[kind] for name, kind in named if kind in _SIZES}


def mpi_requests(nr: int, args: Sequence[int]) -> list[int]:
    """Ids of requests that a call takes by value (MPI_Parrived), not by address."""
    function = _mpi_function(nr)
    kinds = function["kinds"] if function else ()
    null = _mpi_table()["handles"]["request"]
    return [
        value
        for kind, value in zip(kinds, args, strict=False)
        if kind == "request" and str(value) not in null
    ]


def mpi_name(nr: int) -> str | None:
    """Name of the MPI function of a hypercall number."""
    function = _mpi_function(nr)
    return str(function["name"]) if function else None


_CLOCKS = (
    "CLOCK_REALTIME",
    "CLOCK_MONOTONIC",
    "CLOCK_PROCESS_CPUTIME_ID",
    "CLOCK_THREAD_CPUTIME_ID",
    "CLOCK_MONOTONIC_RAW",
    "CLOCK_REALTIME_COARSE",
    "CLOCK_MONOTONIC_COARSE",
    "CLOCK_BOOTTIME",
)


def clock_name(clock: int) -> str:
    """Name of a clock (clock_gettime(2)); for dynamic clocks the negative number."""
    number = clock - (1 << 64) if clock >> 63 else clock
    return _CLOCKS[number] if 0 <= number < len(_CLOCKS) else str(number)


def _clock(record: Record) -> str:
    if record.result < 0:
        value = _result(record.result)
    else:
        value = f"{record.result // 10**9}.{record.result % 10**9:09}"
    return f"clock({clock_name(record.args[0])}) = {value}"


def _hypercall(record: Record) -> str:
    if record.nr == _CLOCK:
        return _clock(record)
    call = verbs_call(record.nr)
    if call is not None:
        return describe_verbs(record, call)
    text = mpi_call(record.nr, record.args)
    if text is None:
        return f"hypercall {record.nr >> 16}:{record.nr & 0xFFFF} = {record.result}"
    if record.result:
        text += f" = {record.result}"
    return text + _messages(record)


def mpi_call(nr: int, args: Sequence[int]) -> str | None:
    """An MPI call with its arguments by name."""
    function = _mpi_function(nr)
    if function is None:
        return None
    arguments = ", ".join(
        f"{name}={_mpi_argument(name, kind, value)}"
        for name, kind, value in zip(function["params"], function["kinds"], args, strict=False)
    )
    return f"{function['name']}({arguments})"


def _mpi_argument(name: str, kind: str, value: int) -> str:
    """The text of one argument.

    Handles are logged as ids of the stub's tables, integers sign-extended, pointers as they are.
    """
    if kind in _mpi_table()["handles"]:
        known = _mpi_table()["handles"][kind].get(str(value))
        return known.removeprefix("MPI_") if known else f"{kind} {value}"
    if kind.endswith("*"):
        return f"{value:#x}" if value else "0"
    number = value - (1 << 64) if value >> 63 else value
    if kind == "int":
        special = _SPECIAL.get((name, number))
        if special:
            return special
    return str(number)


# Values of Open MPI's mpi.h, whose ABI the stub has.
ANY, PROC_NULL, _ROOT, _UNDEFINED = -1, -2, -4, -32766
_CONSTANTS = {
    **dict.fromkeys(("MPI_ANY_SOURCE", "MPI_ANY_TAG"), ANY),
    **{"MPI_PROC_NULL": PROC_NULL, "MPI_ROOT": _ROOT, "MPI_UNDEFINED": _UNDEFINED},
}
_SPECIAL = {
    **{(name, ANY): "ANY" for name in ("source", "tag", "recvtag")},
    **{(name, PROC_NULL): "PROC_NULL" for name in ("source", "dest", "root")},
    ("color", _UNDEFINED): "UNDEFINED",
}


def _messages(record: Record) -> str:
    said = []
    for chunk in record.chunks:
        if chunk.addr == 0 and chunk.note in (Note.RECV, Note.SEND):
            message = Receive.of(record, chunk)
            peer = message.source
            way = "from" if chunk.note == Note.RECV else "to"
            who = f"rank {peer}" if peer >= 0 else "an unknown rank"
            if peer < -1:  # interposer/mpi/lower/objects/worlds.h
                who = f"rank {-2 - peer} of the job"
            said.append(f" {way} {who}, tag {message.tag}, {message.size_bytes} bytes")
    return ";".join(said)
