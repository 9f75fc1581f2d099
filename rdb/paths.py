"""Where rdb's own files are.  The same in a source tree and when installed (see meson.build)."""

from __future__ import annotations

from pathlib import Path

from rdb.errors import MissingTool

_PACKAGE = Path(__file__).resolve().parent


def lib_dir() -> Path:
    """The folder of the built C parts; in a source tree a link, made by `make dev`, to
    build/interposer."""
    return _PACKAGE / "_lib"


def _built(*parts: str) -> Path:
    path = lib_dir().joinpath(*parts)
    if not path.exists():
        raise MissingTool(f"{path} is missing: rdb is not built", "run `make dev`")
    return path


def rdb_exec_path() -> Path:
    """The lower half: the program that records or replays one rank.

    This and the two functions below raise MissingTool if rdb is not built.
    """
    return _built("rdb-exec")


def log_library_path() -> Path:
    """The shared library that reads logs (interposer/log/log_index.h)."""
    return _built("librdblog.so")


def log_declarations_path() -> Path:
    """A cffi module with the declarations of that library (interposer/log/librdblog.cdef)."""
    return _built("librdblog_abi.py")


def mpi_dir(flavour: str = "openmpi") -> Path:
    """The folder of the stub library and the plug-in for one MPI.  It need not exist."""
    return lib_dir() / "mpi" / flavour


def mpi_functions_path() -> Path:
    """Names and parameters of the MPI functions by their index in the hypercall table."""
    return lib_dir() / "mpi" / "functions.json"


def mpi_sources_dir() -> Path:
    """Sources of the plug-in that calls the real MPI: in the package, else in the source tree."""
    installed = lib_dir() / "mpi" / "src"
    return installed if installed.is_dir() else _PACKAGE.parent / "interposer"


def gdb_scripts_dir() -> Path:
    """The GDB extension: beside the package when installed inside it, else in the source tree."""
    installed = _PACKAGE / "gdb_scripts"
    return installed if installed.is_dir() else _PACKAGE.parent / "gdb_scripts"
