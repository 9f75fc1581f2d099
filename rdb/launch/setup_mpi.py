"""Builds the lower library, which calls the real MPI, for an MPI that rdb was not built with.

The MPI's own compiler (mpicc) compiles the same sources, into the store.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rdb.errors import MissingTool, RdbError, Usage
from rdb.executor import Processes
from rdb.launch.mpi import ABOUT, set_up_dir
from rdb.paths import lib_dir, mpi_sources_dir
from rdb.private import make_directories

# -w: no warnings. Without the last option gcc 14 rejects handles that are numbers.
_FLAGS = ["-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-w"]
_FLAGS += ["-Wno-int-conversion"]
# translates constants; unnecessary for Open MPI, which has the same ones
_TRANSLATION = "translate_gen.c"
_ASKED = """#include <mpi.h>
#ifdef OPEN_MPI
rdb_is openmpi OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION
#elif defined MPICH_VERSION
rdb_is mpich MPICH_VERSION
#else
rdb_is mpi MPI_VERSION.MPI_SUBVERSION
#endif
"""
_SAID = re.compile(r"^rdb_is (\w+) (.*)$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z][\w.+-]*\Z")
_BUILT_IN = ("openmpi", "mpich")


@dataclass(frozen=True)
class SetUp:
    """An MPI that programs can now use below them."""

    name: str
    family: str
    version: str
    mpicc: str
    bin: str
    """Directory of its launcher's programs."""
    launcher: str


def build(mpicc: str, name: str | None = None) -> SetUp:
    """Builds the lower library for the MPI of MPICC, in place of an earlier one called NAME.

    MissingTool: no such compiler or no mpirun. Usage: bad name. RdbError: the compiler fails.
    """
    path = shutil.which(mpicc)
    if path is None:
        raise MissingTool(f"cannot find {mpicc}", "name the MPI's compiler: --mpicc PATH")
    path = os.path.abspath(path)
    family, version = _which(path)
    name = name or f"{family}-{version}"
    if not _NAME.match(name) or name in _BUILT_IN:
        raise Usage(
            f"{name!r} cannot name an MPI",
            "use letters, digits, - and ., and no name that rdb has built in",
        )
    launcher = _launcher(path)
    made = SetUp(name, family, version, path, os.path.dirname(os.path.realpath(launcher)), launcher)
    folder = Path(set_up_dir(os.environ))
    make_directories(str(folder))
    with TemporaryDirectory(prefix=".new-", dir=folder) as work:
        _compile(path, family, Path(work))
        about = "".join(f"{key}={value}\n" for key, value in asdict(made).items())
        (Path(work) / ABOUT).write_text(about, encoding="utf-8")
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        # The library first: without its `about` file it is not used.
        for file in ("lower.so", ABOUT):
            os.replace(Path(work) / file, folder / name / file)
    return made


def _which(mpicc: str) -> tuple[str, str]:
    """Family and version of the MPI, from its mpi.h."""
    done = _run([mpicc, "-E", "-P", "-x", "c", "-"], _ASKED)
    found = _SAID.search(done)
    if found is None:
        raise RdbError(f"{mpicc}: its mpi.h does not say which MPI this is")
    return found[1], found[2].replace('"', "").replace(" ", "")


def _launcher(mpicc: str) -> str:
    """The mpirun beside the compiler, with the same ending (mpicc.mpich), or the one in PATH."""
    folder, base = os.path.split(mpicc)
    ending = "." + base.split(".", 1)[1] if "." in base else ""
    for name in (f"mpirun{ending}", f"mpiexec{ending}"):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    found = shutil.which("mpirun")
    if found is None:
        raise MissingTool(
            f"there is no mpirun beside {mpicc}", "check that the MPI is installed completely"
        )
    return found


def _compile(mpicc: str, family: str, work: Path) -> None:
    sources, generated = mpi_sources_dir(), lib_dir() / "mpi"
    files = [*sorted((sources / "mpi" / "lower").rglob("*.c")), generated / "real_gen.c"]
    if family != "openmpi":
        files.append(generated / _TRANSLATION)
    for one in files:
        if not one.exists():
            raise RdbError(f"{one} is missing", "install rdb again")
    includes = [sources / "mpi", sources, generated]
    flags = [*_FLAGS, *(f"-I{one}" for one in includes)]

    def compiled(source: Path) -> Path:
        made = work / f"{source.stem}.o"
        _run([mpicc, *flags, "-c", str(source), "-o", str(made)])
        return made

    objects = [str(one) for one in Processes("source").map(compiled, files)]
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(mpicc))), "lib")
    # Wrappers of environment modules and of Spack expect LD_LIBRARY_PATH to name their library.
    found = not library.startswith("/usr/") and os.path.isdir(library)
    rpath = [f"-Wl,-rpath,{library}"] if found else []
    _run([mpicc, "-shared", *objects, *rpath, "-o", str(work / "lower.so")])


def _run(command: list[str], text: str | None = None) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RdbError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr]
        raise RdbError(f"{command[0]} failed: {lines[0].strip()}")
    return done.stdout
