"""MPI: the same answers under rdb as without it, and each rank replays alone, bit for bit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import openmpi
import pytest
from conftest import SAMPLE, Build
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from mpijob import lines, mpirun, record

from rdb.paths import mpi_dir, mpi_functions_path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "interposer" / "mpi"))
from gen.stub import CALLBACKS, FORTRAN

REAL_LIBMPI = Path("/usr/lib/x86_64-linux-gnu/libmpi.so.40")
FAMILIES = ["ring", "nonblocking", "collectives", "types", "comms", "many"]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str, ranks: int, build: Build, tmp_path: Path) -> None:
    program = build(f"mpi/{family}.c", "-O1")
    native = mpirun(ranks, program)
    assert native.returncode == 0, native.stderr
    job = record(tmp_path, ranks, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


def test_non_pie(build: Build, tmp_path: Path) -> None:
    """Its predefined handles are copies in the program, by copy relocations."""
    program = build("mpi/collectives.c", "-no-pie", "-fno-pie")
    native = mpirun(2, program)
    job = record(tmp_path, 2, program)
    assert (job.result.returncode, lines(job.result)) == (0, lines(native))
    job.expect_equal()


def test_cxx(build: Build, tmp_path: Path) -> None:
    if openmpi.release() >= 5:
        pytest.skip("Open MPI 5 has no C++ bindings")
    program = build("mpi/cxx.cc", "-w", compiler="mpicxx")
    job = record(tmp_path, 2, program)
    assert (job.result.returncode, lines(job.result)) == (0, ["0: sum 1 21", "1: sum 1 21"])
    job.expect_equal()


def test_wildcard_order_is_replayed(build: Build, tmp_path: Path) -> None:
    program = build("mpi/wildcard.c", "-O1")
    for attempt in range(2 if SAMPLE else 5):
        job = record(tmp_path / str(attempt), 3, program, hash_every=10)
        assert job.result.returncode == 0, job.result.stderr
        job.expect_equal()
        rank = job.rank(0)
        received = [r for e in range(rank.last_event + 1) for r in rank.receives(e)]
        order = 0
        for message in received:
            order = (order * 31 + message.source) & 0xFFFFFFFF
        assert job.result.stdout == f"order {order:08x}\n"


def test_messages_are_noted(build: Build, tmp_path: Path) -> None:
    """What was sent and what was received, by the logs of all ranks, is the same."""
    job = record(tmp_path, 3, build("mpi/ring.c", "-O1"))
    sent: Counter[tuple[int, int, int, int]] = Counter()
    received: Counter[tuple[int, int, int, int]] = Counter()
    for rank in range(3):
        recording = job.rank(rank)
        for event in range(recording.last_event + 1):
            sent.update((rank, m.source, m.tag, m.size_bytes) for m in recording.sends(event))
            received.update(
                (m.source, rank, m.tag, m.size_bytes) for m in recording.receives(event)
            )
    assert sum(sent.values()) > 60
    assert sent == received


def test_abort_passes_its_code(build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, 2, build("mpi/ends.c"), "abort")
    assert job.result.returncode == 7
    # The page of advice is Open MPI's; its mpirun sometimes loses it, under rdb or not.
    states = {job.rank(rank).state for rank in range(2)}
    assert "exited 7" in states, states


def test_errors_are_fatal_says_what_open_mpi_says(build: Build, tmp_path: Path) -> None:
    program = build("mpi/ends.c")

    def message(result: subprocess.CompletedProcess[str]) -> list[str]:
        found = re.findall(r"^\[\S+:\d+\] (\*\*\* .*)$", result.stderr, re.MULTILINE)
        said = [line for line in found if "reported by process" not in line]
        # Release 5 ends with other words than the stub's, which are those of 4.1.
        return said if openmpi.release() < 5 else said[:-1]

    # mpirun may lose the last words of a rank that aborts, native or recorded: once is enough.
    tries = 10
    native = next(
        one for one in (mpirun(1, program, "fatal") for _ in range(tries)) if message(one)
    )
    for number in range(tries):
        folder = tmp_path / str(number)
        folder.mkdir()
        job = record(folder, 1, program, "fatal")
        assert job.result.returncode == native.returncode != 0
        job.expect_equal()
        if message(job.result):
            break
    assert message(job.result) == message(native) != []


@pytest.mark.parametrize("when", ["early", "late"])
def test_calls_out_of_order(when: str, build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, 1, build("mpi/ends.c"), when)
    assert job.result.returncode == 1
    order = "before MPI_INIT" if when == "early" else "after MPI_FINALIZE"
    assert f"The MPI_Comm_rank() function was called {order}" in job.result.stderr
    assert job.rank(0).state == "exited 1"


def test_unsupported_function_is_named(build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, 1, build("mpi/ends.c"), "unsupported")
    assert job.result.returncode == 125
    refusal = "rdb: MPI_Comm_flush_buffer: the MPI library that the program runs with lacks"
    assert refusal in job.result.stderr
    assert "still here" not in job.result.stdout
    assert "MPI_Comm_flush_buffer" in job.rank(0).state


def _symbols(path: Path, imported: bool = False) -> dict[str, tuple[str, int]]:
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        return {
            s.name: (s["st_info"]["type"], s["st_size"])
            for s in table.iter_symbols()
            if (s["st_shndx"] == "SHN_UNDEF") == imported and s.name
        }


def _beside_libmpi() -> list[Path]:
    """Other languages', OpenSHMEM's."""
    return [
        one
        for name in ("libmpi_*.so.40", "liboshmem.so.40")
        for one in REAL_LIBMPI.parent.glob(name)
    ]


@pytest.mark.skipif(not REAL_LIBMPI.exists(), reason="no Open MPI to compare with")
def test_fortran_finds_every_inner_function() -> None:
    """None of those that its libraries call refuses, as other inner functions do."""
    libraries = [one for one in _beside_libmpi() if re.match(r"libmpi_(mpifh|use)", one.name)]
    assert libraries
    asked = set().union(*(_symbols(one, imported=True) for one in libraries))
    inner = {
        name
        for name, (kind, _) in _symbols(REAL_LIBMPI).items()
        if kind == "STT_FUNC" and not re.match(r"P?MPIX?_", name)
    }
    # An address that is compared, and what is called if memory ends before MPI_Init.
    refused = {"mpi_conversion_fn_null_", "ompi_mpi_errors_are_fatal_comm_handler"}
    assert asked & inner - FORTRAN - CALLBACKS <= refused


@pytest.mark.skipif(not REAL_LIBMPI.exists(), reason="no Open MPI to compare with")
def test_stub_has_every_symbol_of_the_real_library() -> None:
    stub, real = _symbols(mpi_dir() / "libmpi.so.40"), _symbols(REAL_LIBMPI)
    if openmpi.release() >= 5:
        # The table is that of 4.1.  Of release 5: what programs and its other libraries ask for.
        asked = {name for name in real if re.match(r"P?MPIX?_(?!F08)", name)}
        for library in _beside_libmpi():
            asked |= _symbols(library, imported=True).keys()
        real = {name: real[name] for name in asked & real.keys()}
    functions = {name for name, (kind, _) in real.items() if kind == "STT_FUNC"}
    data = {name: size for name, (kind, size) in real.items() if kind == "STT_OBJECT"}
    assert functions - {n for n, (kind, _) in stub.items() if kind == "STT_FUNC"} == set()
    # Copy relocations of non-PIE programs take the size of the library they were linked with.
    inner = (
        {"mca_pml"} if openmpi.release() >= 5 else set()
    )  # OpenSHMEM's look into it, and no program
    there = {name: stub.get(name, ("", 0))[1] for name in data}
    assert {name: size for name, size in there.items() if name not in inner} == {
        name: size for name, size in data.items() if name not in inner
    }
    assert inner <= there.keys()


def test_stub_needs_no_library() -> None:
    with (mpi_dir() / "libmpi.so.40").open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        assert [getattr(t, "soname", "") for t in dynamic.iter_tags("DT_SONAME")] == [
            "libmpi.so.40"
        ]
        assert list(dynamic.iter_tags("DT_NEEDED")) == []
        assert all(segment["p_type"] != "PT_TLS" for segment in elf.iter_segments())


def test_functions_are_described() -> None:
    table = json.loads(mpi_functions_path().read_text())
    by_name = {f["name"]: f for f in table["functions"].values()}
    recv = by_name["MPI_Recv"]
    assert recv["params"] == ["buf", "count", "datatype", "source", "tag", "comm", "status"]
    assert recv["kinds"] == ["void*", "int", "type", "int", "int", "comm", "MPI_Status*"]
    assert not by_name["MPI_DUP_FN"]["supported"]
    assert table["handles"]["comm"]["2"] == "MPI_COMM_WORLD"
