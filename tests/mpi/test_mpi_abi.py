"""A program built for one MPI, over another: the same answers, and each rank replays alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import openmpi
import pytest
from conftest import Build, Rdb, run_rdb
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from mpijob import lines
from mpis import MPICC, launch, needs, record

from rdb.launch.where import where
from rdb.paths import lib_dir

TABLES = Path(__file__).resolve().parents[2] / "interposer" / "mpi" / "abi"
CROSSINGS = [("mpich", "mpich"), ("mpich", "openmpi"), ("openmpi", "mpich")]
# Where MPIs answer differently: texts, versions, what is left open by the standard.
DIFFERENT = ("version", "universe", "MPICH", "proc null", "copies", "Invalid", "MPI_ERR", "cart")


def alike(result: subprocess.CompletedProcess[str]) -> list[str]:
    own = [line for line in lines(result) if line[:3] in ("0: ", "1: ")]
    return [line for line in own if not any(word in line for word in DIFFERENT)]


@pytest.mark.parametrize(("upper", "lower"), CROSSINGS)
def test_answers(upper: str, lower: str, build: Build, tmp_path: Path) -> None:
    """Constants, statuses, callbacks, error classes: all that differs between the ABIs."""
    needs(upper, lower)
    program = build("mpi/abi.c", "-O1", "-w", compiler=MPICC[upper])
    native = launch(upper, 2, program)
    assert native.returncode == 0, native.stderr
    job = record(tmp_path, lower, 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_answers_of_the_mpi_below(mpi: str, build: Build, tmp_path: Path) -> None:
    """Its version, predefined attributes, handles that it hands out twice, codes of callbacks."""
    needs(mpi)
    program = build("mpi/alike.c", "-O1", "-w", compiler=MPICC[mpi])
    native = launch(mpi, 2, program)
    assert native.returncode == 0, native.stderr
    assert len(lines(native)) > 400
    job = record(tmp_path, mpi, 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_parts_of_shared_windows(mpi: str, build: Build, tmp_path: Path) -> None:
    """Whether a part of size 0 has an address, and where gaps are, is each MPI's own."""
    needs(mpi)
    program = build("mpi/shared_parts.c", "-O1", compiler=MPICC[mpi])
    native = launch(mpi, 4, program)
    job = record(tmp_path, mpi, 4, program)
    assert len(lines(native)) == 4 and "nowhere" in native.stdout
    assert lines(job.result) == lines(native), job.result.stderr
    job.expect_equal()


@pytest.mark.parametrize("family", ["nonblocking", "collectives", "comms"])
@pytest.mark.parametrize(("upper", "lower"), CROSSINGS[1:])
def test_family(upper: str, lower: str, family: str, build: Build, tmp_path: Path) -> None:
    needs(upper, lower)
    program = build(f"mpi/{family}.c", "-O1", "-w", compiler=MPICC[upper])
    native = launch(upper, 2, program)
    assert native.returncode == 0, native.stderr
    job = record(tmp_path, lower, 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert len(alike(job.result)) > 10
    assert alike(job.result) == alike(native)
    job.expect_equal()


@pytest.mark.parametrize(("upper", "lower"), [("mpich", "mpich"), ("openmpi", "mpich")])
def test_functions_beside_the_standard(
    upper: str, lower: str, build: Build, tmp_path: Path
) -> None:
    """Those of MPI-1 that MPI-3 took out; numbers of handles and statuses for Fortran."""
    needs(upper, lower)
    program = build("mpi/beside.c", "-O1", "-w", compiler=MPICC[upper])
    job = record(tmp_path, lower, 1, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["well"]
    job.expect_equal()


@pytest.mark.parametrize("program", ["rma_fence", "rma_passive", "rma_places"])
@pytest.mark.parametrize(("upper", "lower"), CROSSINGS[1:])
def test_windows(
    upper: str, lower: str, program: str, build: Build, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """They assert what they see.  MPICH 4.0 over UCX moves windows that begin at odd addresses."""
    needs(upper, lower)
    monkeypatch.setenv("OMPI_MCA_osc", openmpi.windows())
    job = record(tmp_path, lower, 2, build(f"mpi/{program}.c", "-O1", "-w", compiler=MPICC[upper]))
    assert job.result.returncode == 0, job.result.stderr
    assert [line[:3] for line in lines(job.result)] == ["0: ", "1: "]
    job.expect_equal()


@pytest.mark.parametrize(("upper", "lower"), CROSSINGS[1:])
def test_files(upper: str, lower: str, build: Build, tmp_path: Path) -> None:
    needs(upper, lower)
    program = build("mpi/io_files.c", "-O1", "-w", compiler=MPICC[upper])
    job = record(tmp_path, lower, 2, program, tmp_path / "data")
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: files", "1: files"]
    job.expect_equal()


@pytest.mark.parametrize(
    ("program", "lower"),
    [*((program, mpi) for program in ("additions", "sessions") for mpi in ("mpich", "openmpi")),
     ("partitioned", "mpich")],
)  # fmt: skip
def test_what_mpi_4_added(lower: str, program: str, build: Build, tmp_path: Path) -> None:
    """Persistent collectives, sessions and others: over MPI-3, too."""
    needs("mpich", lower)
    job = record(
        tmp_path, lower, 2, build(f"mpi/{program}.c", "-O1", "-w", compiler=MPICC["mpich"])
    )
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good"]
    job.expect_equal()


def test_partitioned_messages_without_a_recording(build: Build, tmp_path: Path) -> None:
    """MPI_Testall of MPICH fails with partitioned requests that MPI_Waitall takes."""
    needs("mpich")
    program = str(build("mpi/partitioned.c", "-O1", "-w", compiler=MPICC["mpich"]))
    options = ["run", "--record=off", "--mpi=mpich", "-n", "2"]
    done = run_rdb(tmp_path / "home", tmp_path, *options, "--", program)
    assert (done.returncode, lines(done)) == (0, ["0: good", "1: good"]), done.stderr


@pytest.mark.parametrize("error", ["info", "keyval"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_exit_code_of_a_fatal_error(mpi: str, error: str, build: Build, tmp_path: Path) -> None:
    """The number of the class, which MPIs have their own of."""
    needs(mpi)
    program = build("mpi/fatal.c", "-O1", "-w", compiler=MPICC[mpi])
    native = launch(mpi, 1, program, error)
    assert native.returncode != 0
    job = record(tmp_path, mpi, 1, program, error)
    assert job.result.returncode == native.returncode


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_behind_an_incomplete_element_is_no_memory(mpi: str, build: Build, tmp_path: Path) -> None:
    needs(mpi)
    job = record(tmp_path, mpi, 2, build("mpi/begun.c", "-O1", "-w", compiler=MPICC[mpi]))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good"]
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_memory_of_a_window_is_unmapped_first(mpi: str, build: Build, tmp_path: Path) -> None:
    needs(mpi)
    program = build("mpi/window_unmapped.c", "-O1", "-w", compiler=MPICC[mpi])
    job = record(tmp_path, mpi, 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good"]
    job.expect_equal()


def test_threads_flush_a_window_of_which_others_read(build: Build, tmp_path: Path) -> None:
    needs("mpich")
    program = build("mpi/rma_flushes.c", "-O1", "-w", "-pthread", compiler=MPICC["mpich"])
    job = record(tmp_path, "mpich", 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: 0 wrong", "1: 0 wrong"]
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_calls_that_fail(mpi: str, build: Build, tmp_path: Path) -> None:
    """Handles that they set to null, and types that are not committed."""
    needs(mpi)
    program = build("mpi/failing.c", "-O1", "-w", compiler=MPICC[mpi])
    native = launch(mpi, 1, program)
    assert ": class 3, as before" in native.stdout
    assert ", null" in native.stdout
    job = record(tmp_path, mpi, 1, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_collectives_that_send_from_where_they_receive(
    mpi: str, build: Build, tmp_path: Path
) -> None:
    needs(mpi)
    program = build("mpi/aliased.c", "-O1", "-w", compiler=MPICC[mpi])
    native = launch(mpi, 1, program)
    assert "Iallreduce(b, b, N, MPI_INT, MPI_SUM, comm, &request): class 1" in native.stdout
    job = record(tmp_path, mpi, 1, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


def test_errors_that_are_left_to_the_world(build: Build, tmp_path: Path) -> None:
    needs("mpich")
    program = build("mpi/world_handler.c", "-O1", "-w", compiler=MPICC["mpich"])
    native = launch("mpich", 2, program)
    assert native.returncode == 0, native.stderr
    job = record(tmp_path, "mpich", 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


def test_infos_outlive_mpi(build: Build, tmp_path: Path) -> None:
    needs("mpich")
    program = build("mpi/info_any_time.c", "-O1", "-w", compiler=MPICC["mpich"])
    job = record(tmp_path, "mpich", 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: after", "0: good", "1: after", "1: good"]
    job.expect_equal()


@pytest.mark.parametrize("lower", ["mpich", "openmpi"])
def test_large_counts(lower: str, build: Build, tmp_path: Path) -> None:
    """Over an MPI that has no such functions as well, as far as counts fit in an int."""
    needs("mpich", lower)
    program = build("mpi/large_counts.c", "-O1", "-w", compiler=MPICC["mpich"])
    has = ["many"] if lower == "mpich" else []
    job = record(tmp_path, lower, 2, program, tmp_path / "data", *has)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good"]
    job.expect_equal()
    if not has:
        more = tmp_path / "more"
        more.mkdir()
        refused = record(more, lower, 1, program, tmp_path / "data", "many").result
        assert refused.returncode == 125
        assert "MPI_Type_contiguous_c: the count does not fit in an int" in refused.stderr


@pytest.mark.parametrize(("upper", "lower"), CROSSINGS)
def test_tools(upper: str, lower: str, build: Build, tmp_path: Path) -> None:
    """MPI_T has variables of the MPI below, and constants of the program's."""
    needs(upper, lower)
    job = record(tmp_path, lower, 1, build("mpi/tools_any.c", "-O1", "-w", compiler=MPICC[upper]))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good"]
    job.expect_equal()


@pytest.mark.parametrize(
    ("upper", "library"), [("openmpi", "libmpi.so.40"), ("mpich", "libmpich.so.12")]
)
def test_opened_without_a_version(upper: str, library: str, build: Build, tmp_path: Path) -> None:
    """By a link, libmpi.so, that leads to the real one: the program gets the stub all the same,
    and is told, as without rdb, that its ABI is not the standard's."""
    needs(upper, "openmpi")
    program = build("mpi/opened.c")
    link = tmp_path / "libmpi.so"
    link.symlink_to(Path("/usr/lib/x86_64-linux-gnu") / library)
    job = record(tmp_path, "openmpi", 2, program, link)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == [f"abi -1.-1, {upper}"] * 2
    job.expect_equal()
    rank = job.rank(0)
    assert "MPI_Init" in " ".join(rank.describe(event) for event in range(rank.last_event + 1))


def test_run_over_mpich(rdb: Rdb, build: Build) -> None:
    """`rdb run --mpi` takes that MPI's launcher, and hydra's ranks are found."""
    needs("openmpi", "mpich")
    program = build("mpi/ring.c", "-O1")
    done = rdb("run", "-n", "2", "--mpi=mpich", "--", program)
    assert done.returncode == 0, done.stderr
    assert "mpirun.mpich" in done.stderr
    assert "2 ranks, exit code 0" in done.stderr
    missing = rdb("run", "-n", "2", "--mpi=nompi", "--", program)
    assert missing.returncode == 2
    assert "rdb has no library for this MPI; rdb has: openmpi, mpich" in missing.stderr


@pytest.mark.parametrize(
    ("table", "stub"),
    [("mpich", "mpich/libmpich.so.12"), ("mpi-abi", "mpi-abi/libmpi_abi.so.1")],
)
def test_stub_has_what_the_library_exports(table: str, stub: str) -> None:
    """Programs start, whatever they refer to."""
    with (lib_dir() / "mpi" / stub).open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(section, SymbolTableSection)
        exported = {symbol.name for symbol in section.iter_symbols()}
    rows = (TABLES / f"{table}.symbols").read_text().splitlines()
    wanted = {row.split()[1] for row in rows if row.startswith("F ")}
    assert len(wanted) > 1000
    assert wanted <= exported


def test_ranks_of_hydra() -> None:
    """One node: the parent tells launches apart; the rank and the size are PMI's."""
    env = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}
    place = where(env)
    assert (place.rank, place.nranks, place.launcher) == (1, 2, "mpirun")
    assert place.key == where({**env, "PMI_RANK": "0"}).key


def test_ranks_of_an_mpirun_whose_daemons_srun_has_started() -> None:
    """Open MPI 5 in an allocation: on its first node there is no daemon, and no srun."""
    env = {"PMIX_RANK": "0", "PMIX_NAMESPACE": "prterun-node1-77@1"}
    far = {**env, "PMIX_RANK": "1", "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"}
    assert where(env).launcher == where(far).launcher == "mpirun"
    assert where(env).key == where(far).key
    assert where({**far, "PMIX_NAMESPACE": "slurm.pmix.5.0"}).launcher == "srun"
