"""`break MPI_Allreduce` stops at every binding of it: the name is the one that rdb shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PROGRAMS, run_rdb
from gdbdriver import DEADLINE_S, Gdb, in_console

from rdb.paths import lib_dir
from rdb.recording.symbols.places import place_name

C = {"MPI_Allreduce": "", "PMPI_Allreduce": "", "MPI_Allreduce_c": "mpich"}
FORTRAN = ("OLD", "MODULE", "F08")
BINDINGS = [(mpi, way) for mpi in ("openmpi", "mpich") for way in (*C, *FORTRAN)
            if C.get(way, mpi) in ("", mpi)]  # fmt: skip


@pytest.fixture(scope="module", params=BINDINGS, ids=lambda binding: "-".join(binding))
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    mpi, way = request.param
    folder = tmp_path_factory.mktemp("named")
    program = folder / "named"
    if way in C:
        compiler = f"mpicc.{mpi}"
        command = [f"-DALLREDUCE={way}", PROGRAMS / "mpi" / "named.c"]
    else:
        compiler = f"mpifort.{mpi}"
        command = ["-cpp", f"-D{way}", "-w", "-fallow-argument-mismatch", "-J", folder,
                   PROGRAMS / "fortran" / "named.f90"]  # fmt: skip
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}: install {mpi} and gfortran")
    subprocess.run([compiler, "-g", "-O0", "-o", program, *command], check=True)
    home = "c" if way in C else "fortran"
    done = run_rdb(folder / home, folder, "run", "--name", "job", "-n", "1", "--", str(program))
    assert done.returncode == 0, done.stderr
    return folder / home


def stopped(gdb: Gdb) -> bool:
    """In the function, by its own name; False: at an end of the recording.

    In a frame of Fortran, whose names have no case, GDB stops in the Fortran function, too."""
    function = gdb.function() or ""
    assert "large" not in function
    return re.fullmatch(r"P?MPI_Allreduce(_c)?|p?mpi_allreduce_*", function) is not None


def hits(gdb: Gdb, command: str) -> int:
    """How often it is met until the recording ends, each time in another turn of the loop."""
    turns = []
    gdb.run(command)
    while stopped(gdb):
        turns.append(turn(gdb))
        gdb.run(command)
    assert len(turns) == len(set(turns))
    return len(turns)


def turn(gdb: Gdb) -> str:
    level = next(n for n, frame in enumerate(gdb.frames()) if frame.get("func") in OWN)
    gdb.run(f"frame {level}")
    return gdb.value("turn")


IN_ITS_LANGUAGE = {"c": "named.c:10", "fortran": "named.f90:17"}
FIRST = {"c": "0", "fortran": "1"}
OWN = ("main", "named", "MAIN__")


@pytest.fixture(scope="module")
def opened(home: Path) -> Iterator[Gdb]:
    with Gdb("job", home=home, deadline_s=DEADLINE_S) as gdb:
        yield gdb


@pytest.fixture
def gdb(opened: Gdb) -> Gdb:
    """At the start, without breakpoints."""
    opened.run("delete")
    opened.run("goto START")
    return opened


@pytest.mark.parametrize("name", ["MPI_Allreduce", "PMPI_Allreduce"])
def test_the_name_stops_at_each_call(gdb: Gdb, home: Path, name: str) -> None:
    gdb.run(f"break {name}")
    assert hits(gdb, "continue") == 3
    assert hits(gdb, "reverse-continue") == 3
    gdb.run("delete")
    gdb.run("goto END")  # where the language is C's
    gdb.run(f"break {name}")
    assert hits(gdb, "reverse-continue") == 3
    gdb.run("delete")
    gdb.run("goto START")
    gdb.run(f"break {IN_ITS_LANGUAGE[home.name]}")
    gdb.run("continue")
    assert gdb.function() in OWN
    gdb.run("delete")
    gdb.run(f"tbreak {name}")  # from a frame of the program, in its language
    gdb.run("continue")
    assert stopped(gdb)
    first = turn(gdb)
    gdb.run("continue")
    assert not stopped(gdb)
    assert first == FIRST[home.name]


def test_with_a_condition(gdb: Gdb) -> None:
    for condition, expected in (("$rip == $pc", 3), ("$rip == 0", 0)):
        gdb.run("goto START")
        gdb.run(f"break MPI_Allreduce if {condition}")
        assert hits(gdb, "continue") == hits(gdb, "reverse-continue") == expected
        gdb.run("delete")


def build_without_symbols(way: str, folder: Path) -> Path:
    """named.c, as it is shipped."""
    program, tool = folder / "named", PROGRAMS / "mpi" / "tool.c"
    command = ["mpicc.openmpi", "-DALLREDUCE=MPI_Allreduce", "-O1", "-o", program]
    command.append(PROGRAMS / "mpi" / "named.c")
    if way == "tool":
        library = folder / "libtool.so"
        subprocess.run(["mpicc.openmpi", "-shared", "-fPIC", "-o", library, tool], check=True)
        command += [library, f"-Wl,-rpath,{folder}"]
    elif way == "static tool":
        subprocess.run(["mpicc.openmpi", "-c", "-o", folder / "tool.o", tool], check=True)
        subprocess.run(["ar", "rcs", folder / "libtool.a", folder / "tool.o"], check=True)
        command.append(folder / "libtool.a")
    elif way == "MPI-5":
        stub = lib_dir() / "mpi" / "mpi-abi"
        command[0] = "gcc"
        command += [f"-I{PROGRAMS / 'mpi' / 'abi5'}", stub / "libmpi_abi.so.1"]
        command.append(f"-Wl,-rpath,{stub}")
    subprocess.run([*command, "-s"], check=True)
    return program


@pytest.mark.parametrize("way", ["plain", "tool", "static tool", "MPI-5"])
def test_in_programs_without_symbols(way: str, tmp_path: Path) -> None:
    """A tool's function is one binding, what it passes the call on to is another."""
    if shutil.which("mpicc.openmpi") is None:
        pytest.skip("no mpicc.openmpi: install openmpi")
    program = build_without_symbols(way, tmp_path)
    run = ["run", "--name", "job", "-n", "1", "--mpi=openmpi", "--", str(program)]
    done = run_rdb(tmp_path / "home", tmp_path, *run)
    assert done.returncode == 0, done.stderr
    each = ["PMPI_Allreduce"] if way in ("plain", "MPI-5") else ["MPI_Allreduce", "PMPI_Allreduce"]
    with Gdb("job", home=tmp_path / "home") as gdb:
        for command, functions in (("continue", each), ("reverse-continue", each[::-1])):
            gdb.run("delete")
            gdb.run("break MPI_Allreduce")
            met = []
            gdb.run(command)
            while stopped(gdb):
                met.append(gdb.function())
                gdb.run(command)
            assert met == functions * 3


def test_what_called_it_in_programs_without_symbols(tmp_path: Path) -> None:
    """The tool's function has a name that the program exports, the program's own has none."""
    program = build_without_symbols("static tool", tmp_path)
    places = subprocess.run(
        ["objdump", "-d", program], check=True, capture_output=True, text=True
    ).stdout
    call = r"^ *([0-9a-f]+):.*(?:call|jmp) .*<(P?MPI_Allreduce)(?:@.*)?>$"
    calls = re.findall(call, places, re.MULTILINE)
    named = {name: place_name(program, "named", int(at, 16)) for at, name in calls}
    own, passed_on = named["MPI_Allreduce"], named["PMPI_Allreduce"]
    assert re.fullmatch(r"named\+0x[0-9a-f]+", own)
    assert re.fullmatch(r"MPI_Allreduce \(named\+0x[0-9a-f]+\)", passed_on)


def test_in_python_before_its_library_is_loaded(tmp_path: Path) -> None:
    """mpi4py calls MPI_Allreduce, or MPI_Allreduce_c if the MPI has it."""
    program = str(PROGRAMS / "python" / "reduce.py")
    done = run_rdb(
        tmp_path / "home",
        tmp_path,
        "run",
        "--name",
        "job",
        "-n",
        "1",
        "--",
        sys.executable,
        program,
    )
    assert done.returncode == 0, done.stderr
    go = ["continue", "print max(total)"]
    said = in_console(
        tmp_path / "home", "job", ["goto start", "break MPI_Allreduce", *go, *go, *go, "continue"]
    )
    assert "pending" in said[1]
    assert all(re.search(r"P?MPI_Allreduce(_c)? \(\)", said[at]) for at in (2, 4, 6)), said
    assert [said[at].split()[-1] for at in (3, 5, 7)] == ["0", "0", "1"]
    assert "end of the recording" in said[8]
