"""Building the side that calls the real MPI for one that rdb was not built with.

It is compiled from the same sources by that MPI's own compiler (its mpicc), into the store.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rdb.errors import MissingTool, RdbError, Usage
from rdb.launch.mpi import ABOUT, set_up_dir
from rdb.paths import lib_dir, mpi_sources_dir
from rdb.private import make_directories

# -w says nothing of warnings; gcc 14 takes handles that are numbers for an error.
_FLAGS = ["-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-w"]
_FLAGS += ["-Wno-int-conversion"]
_TRANSLATION = "translate_gen.c"  # of constants: not needed over Open MPI, whose they are
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
    """An MPI that can be below programs from now on."""

    name: str
    family: str
    version: str
    mpicc: str
    bin: str
    """Where its launcher's programs are."""
    launcher: str


def build(mpicc: str, name: str | None = None) -> SetUp:
    """Builds it, in place of an earlier one of that name."""
    path = shutil.which(mpicc)
    if path is None:
        raise MissingTool(f"{mpicc} is not to be found", "--mpicc PATH names an MPI's compiler")
    path = os.path.abspath(path)
    family, version = _which(path)
    name = name or f"{family}-{version}"
    if not _NAME.match(name) or name in _BUILT_IN:
        raise Usage(f"{name!r} is no name for an MPI", "letters, digits, - and .; it is rdb's own?")
    launcher = _launcher(path)
    made = SetUp(name, family, version, path, os.path.dirname(os.path.realpath(launcher)), launcher)
    folder = Path(set_up_dir(os.environ))
    make_directories(str(folder))
    with TemporaryDirectory(prefix=".new-", dir=folder) as work:
        _compile(path, family, Path(work))
        about = "".join(f"{key}={value}\n" for key, value in asdict(made).items())
        (Path(work) / ABOUT).write_text(about, encoding="utf-8")
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        # The library first: without what is said about it, it is not there.
        for file in ("lower.so", ABOUT):
            os.replace(Path(work) / file, folder / name / file)
    return made


def _which(mpicc: str) -> tuple[str, str]:
    """Family and version, by its header."""
    done = _run([mpicc, "-E", "-P", "-x", "c", "-"], _ASKED)
    found = _SAID.search(done)
    if found is None:
        raise RdbError(f"{mpicc} does not say which MPI it is of")
    return found[1], found[2].replace('"', "").replace(" ", "")


def _launcher(mpicc: str) -> str:
    """mpirun of the same MPI: beside its compiler, with the same ending (mpicc.mpich)."""
    folder, base = os.path.split(mpicc)
    ending = "." + base.split(".", 1)[1] if "." in base else ""
    for name in (f"mpirun{ending}", f"mpiexec{ending}"):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    found = shutil.which("mpirun")
    if found is None:
        raise MissingTool(f"there is no mpirun beside {mpicc}", "is the MPI installed whole?")
    return found


def _compile(mpicc: str, family: str, work: Path) -> None:
    sources, generated = mpi_sources_dir(), lib_dir() / "mpi"
    files = [*sorted((sources / "mpi" / "lower").glob("*.c")), generated / "real_gen.c"]
    if family != "openmpi":
        files.append(generated / _TRANSLATION)
    for one in files:
        if not one.exists():
            raise RdbError(f"{one} is missing", "is rdb installed whole?")
    includes = [sources / "mpi" / "lower", sources / "mpi", sources, generated]
    flags = [*_FLAGS, *(f"-I{one}" for one in includes)]

    def compiled(source: Path) -> Path:
        made = work / f"{source.stem}.o"
        _run([mpicc, *flags, "-c", str(source), "-o", str(made)])
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = [str(one) for one in pool.map(compiled, files)]
    library = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(mpicc))), "lib")
    # Wrappers of modules and of Spack leave it to the environment where their library is.
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
        raise RdbError(f"{command[0]} fails: {lines[0].strip()}")
    return done.stdout
