"""Fixtures: a store of one's own, programs built once, the rdb command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import deadlines
import openmpi
import pytest
from costs import Costs
from gdbdriver import Gdb, Recorded
from hypothesis import HealthCheck, settings
from jobstore import Store

PROGRAMS = Path(__file__).parent / "programs"
INCLUDE = Path(__file__).parents[1] / "interposer" / "include"
TIMEOUT_S = 400
SAMPLE = "RDB_TEST_SAMPLE" in os.environ  # set by `make test`
SUITES = ("apps", "cluster", "cpus", "languages", "mpi", "page", "rdma", "stress")

Build = Callable[..., Path]
Rdb = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_configure(config: pytest.Config) -> None:
    # `make test` makes the same examples each time; `make test-walk`, or a seed, others.
    explores = "RDB_TEST_WALK" in os.environ or config.getoption("--hypothesis-seed") is not None
    # how long an example takes, or the making of one, depends on what else runs
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        "rdb", derandomize=not explores, deadline=None, suppress_health_check=slow
    )
    settings.load_profile("rdb")
    if "RDB_TEST_COSTS" in os.environ:
        config.pluginmanager.register(Costs(Path(os.environ["RDB_TEST_COSTS"]).absolute()))
    for name, value in openmpi.REACHABLE.items():
        os.environ.setdefault(name, value)
    # Two mpirun of Open MPI that make their common session directory at once: one may fail.
    if "PYTEST_XDIST_WORKER" in os.environ:
        sessions = tempfile.mkdtemp()
        os.chmod(sessions, 0o1777)  # tests run commands as other users, too
        config.add_cleanup(lambda: shutil.rmtree(sessions, ignore_errors=True))
        for name in ("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"):
            os.environ.setdefault(name, sessions)
    # Open MPI refuses root unless told twice that it is meant; tests run as root in containers.
    if os.geteuid() == 0:
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    # Tests start rdb thousands of times; it should not be compiled each time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Tests that start ranks must not take themselves for ranks of some outer job.
    for name in ("RDB_JOB_DIR", "RDB_DEBUG", "PYTHONPATH"):
        os.environ.pop(name, None)
    # What a script starts in the background ignores Ctrl-C, and what nohup starts a terminal's end;
    # so would what tests press it in, or hang up.
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Suites of their own run only where `-m` asks for them."""
    left_out = [
        item
        for item in items
        for suite in SUITES
        if suite not in config.option.markexpr and item.get_closest_marker(suite)
    ]
    if SAMPLE:
        left_out += _beyond_the_sample([item for item in items if item not in left_out])
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def sampled(test: str, count: int) -> int:
    """Which of the COUNT variants of a test is in the sample: any, but always the same one."""
    return zlib.crc32(test.encode()) % count


def _beyond_the_sample(items: list[pytest.Item]) -> list[pytest.Item]:
    variants: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("slow"):
            variants.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {each[sampled(test, len(each))] for test, each in variants.items()}
    return [item for item in items if item not in kept]


def run_rdb(
    home: Path, cwd: Path, *arguments: str, before: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """The rdb command in CWD, for recordings that tests of a module share; BEFORE starts it."""
    command = [*before, sys.executable, "-m", "rdb", *arguments]
    env = {**os.environ, "RDB_HOME": str(home)}
    return deadlines.run(command, TIMEOUT_S, cwd=cwd, env=env, stdin=subprocess.DEVNULL)


def replay_agrees(rdb: Rdb, name: object) -> str:
    """Replays that job, with its hashes compared: what was said."""
    done = rdb("replay", str(name), "--verify")
    assert done.returncode == 0 and "agree" in done.stdout, done.stderr
    return done.stdout


@pytest.fixture
def rdb_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, also for the rdb of this process."""
    home = tmp_path / "rdb-home"
    monkeypatch.setenv("RDB_HOME", str(home))
    return home


@pytest.fixture
def rdb(rdb_home: Path, tmp_path: Path) -> Rdb:
    """Runs the rdb command in tmp_path: rdb("run", "--", prog).returncode."""

    def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        settings = {"cwd": tmp_path, "stdin": subprocess.DEVNULL, **options}
        command = [sys.executable, "-m", "rdb", *map(str, arguments)]
        return deadlines.run(command, TIMEOUT_S, **settings)

    return run


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """build("ring.c", "-O0"): the program's path; source text instead of a file name works too."""
    made: dict[tuple[str, ...], Path] = {}

    def compile_once(source: str | Path, *flags: str, compiler: str | None = None) -> Path:
        path = PROGRAMS / source
        key = (str(path), compiler or "", *flags)
        if key not in made:
            out = tmp_path_factory.mktemp("build") / path.stem
            made[key] = _compile(path, out, flags, compiler or _compiler(path))
        return made[key]

    return compile_once


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    """The recording that scenarios move about in, unless a module has one of its own."""
    source = "scenario_motion.c"
    made = Recorded(tmp_path_factory.mktemp("motion"), build(source, "-O0"), PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Store:
    """Jobs of three ranks: `causal`, and two that end in a deadlock, `cycle` and `tag`."""
    made = Store(tmp_path_factory.mktemp("jobs") / "home", build)
    made.record("causal", "causal.c")
    made.record_until_all_wait("cycle")
    made.record_until_all_wait("tag")
    made.record_until_all_wait("sends")
    return made


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as session:
        yield session


@pytest.fixture
def build_text(tmp_path: Path) -> Callable[..., Path]:
    """build_text("name", "int main(void) {...}"): a program from its source text."""

    def compile_text(name: str, text: str, *flags: str, compiler: str = "gcc") -> Path:
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        return _compile(source, tmp_path / name, flags, compiler)

    return compile_text


def _compiler(path: Path) -> str:
    if path.suffix in (".cc", ".cpp"):
        return "g++"
    if path.suffix == ".f90" and path.parent.name != "fortran":
        return "gfortran"
    return "mpicc" if path.parent.name == "mpi" else "gcc"


def _compile(source: Path, out: Path, flags: Sequence[str], compiler: str) -> Path:
    modules = ("-J", out.parent) if compiler == "gfortran" else ()
    command = [compiler, "-g", "-Wall", *modules, source, "-o", out, *flags, "-lm"]
    subprocess.run(command, check=True)
    return out
