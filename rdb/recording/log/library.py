"""librdblog (interposer/log/librdblog.cdef), through cffi."""

from __future__ import annotations

import errno
import os
import struct
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from rdb.errors import DamagedRecording, RdbError, VersionMismatch
from rdb.paths import log_declarations_path, log_library_path

ENTRY = struct.Struct("<QqQQIIIIHHIQ")  # struct log_entry
ENTRY_FIELDS = (
    *("event", "result", "at_ns", "offset", "segment", "size", "nr", "repeat"),
    *("kind", "nargs", "thread", "place"),
)


@cache
def log_library() -> tuple[Any, Any]:
    """cffi's FFI object and the library.

    Raises VersionMismatch if the library was built from other sources than this rdb.
    """
    spec = spec_from_file_location("librdblog_abi", log_declarations_path())
    assert spec is not None and spec.loader is not None
    declared = module_from_spec(spec)
    spec.loader.exec_module(declared)
    path = log_library_path()
    library = declared.ffi.dlopen(str(path))
    found = [field for field in fields_of(declared.ffi, library) if field[0] == "log_entry"]
    sizes = [struct.calcsize(one) for one in ENTRY.format[1:]]
    known = [
        ("log_entry", name, sum(sizes[:at]), sizes[at]) for at, name in enumerate(ENTRY_FIELDS)
    ]
    if found != known:
        raise VersionMismatch(
            f"{path} was built from other sources than this rdb", "run `make dev`"
        )
    return declared.ffi, library


def read_error(where: Path, status: int, said: Any) -> RdbError | None:
    """The error of a function of the library that read a log; SAID: its text. None: none."""
    text = bytes(log_library()[0].buffer(said)).split(b"\0", 1)[0].decode(errors="replace")
    if status == -errno.EPROTO:
        return VersionMismatch(f"{where}: {text}", "record it again with this rdb")
    if status == -errno.EBADMSG:
        return DamagedRecording(f"{where}/{text}")
    return RdbError(f"{where}: {text or os.strerror(-status)}", exit_code=5) if status else None


def fields_of(ffi: Any, library: Any) -> list[tuple[str, str, int, int]]:
    """(structure, field, offset, size) in bytes, as the library's compiler laid them out."""
    found: list[tuple[str, str, int, int]] = []
    field = library.log_index_fields()
    while field.name != ffi.NULL:
        structure, _, name = ffi.string(field.name).decode().partition(".")
        found.append((structure, name, field.offset, field.size))
        field += 1
    return found
