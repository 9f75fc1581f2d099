"""Finds the program, and says early why it cannot be recorded."""

from __future__ import annotations

import os
import stat

from rdb.errors import CannotExecute, ProgramNotFound

_EM_X86_64 = 62
# e_machine of the ELF header (elf.h), for common machines.
_MACHINES = {
    3: "32-bit x86",
    8: "MIPS",
    20: "PowerPC",
    21: "64-bit PowerPC",
    22: "S/390",
    40: "32-bit ARM",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}


def find_program(name: str) -> str:
    """The absolute path of a program, found as a shell does.

    ProgramNotFound (exit code 127), CannotExecute (126): it cannot be recorded.
    """
    path = look_up(name)
    if os.path.isdir(path):
        raise CannotExecute(f"{name} is a directory", "name a program in it")
    if not os.access(path, os.X_OK):
        raise CannotExecute(f"{name} is not executable", f"chmod +x {path}")
    _check_format(name, path)
    return os.path.abspath(path)


def look_up(name: str) -> str:
    """The path that a shell would execute.  ProgramNotFound, CannotExecute: there is none."""
    if not name:
        raise ProgramNotFound("no program: its name is empty")
    if "/" in name:
        try:
            os.stat(name)
        except PermissionError as error:
            raise CannotExecute(f"{name}: permission denied") from error
        except OSError as error:
            raise ProgramNotFound(f"{name}: {_why(error)}", "check the path") from error
        return name
    path = in_path(name)
    if path is not None:
        return path
    hint = (
        f"for the file in this directory write ./{name}"
        if os.path.exists(name)
        else "check the name and PATH"
    )
    raise ProgramNotFound(f"{name} is not in PATH", hint)


def in_path(name: str) -> str | None:
    """The executable of that name in PATH; shutil.which would cost each `rdb run` 3 ms."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _why(error: OSError) -> str:
    text = os.strerror(error.errno) if error.errno else str(error)
    return text[:1].lower() + text[1:]


def _check_format(name: str, path: str) -> None:
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise CannotExecute(f"{name} is not a regular file")
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError as error:
        raise CannotExecute(f"{name}: {_why(error)}") from error
    if head[:2] == b"#!":
        return
    if head[:4] != b"\x7fELF":
        raise CannotExecute(f"{name} is neither an ELF program nor a script")
    if len(head) < 64:
        raise CannotExecute(f"{name} is a truncated ELF file")
    order = "big" if head[5] == 2 else "little"
    machine = int.from_bytes(head[18:20], order)  # type: ignore[arg-type]
    if head[4] != 2 or machine != _EM_X86_64:
        what = _MACHINES.get(machine, f"machine {machine}")
        if machine == _EM_X86_64:
            what = "x32"
        raise CannotExecute(f"{name} is built for {what}; rdb records 64-bit x86 programs")
    kind = int.from_bytes(head[16:18], "little")
    if kind not in (2, 3):
        raise CannotExecute(f"{name} is an ELF file, but not an executable")
