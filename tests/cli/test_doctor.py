"""rdb doctor: on this machine, and on machines that lack something."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Any

import deadlines
import pytest
from conftest import TIMEOUT_S, Rdb

from rdb.doctor import Finding, Machine, State, examine, works
from rdb.errors import NotYours
from rdb.private import check_store

GOOD: dict[str, Any] = {
    "sud": True,
    "seccomp": True,
    "fsgsbase": True,
    "perf_breakpoints": True,
    "cpuid_faulting": True,
    "tsc_faulting": True,
    "userfaultfd": True,
    "userfaultfd_wp_async": True,
    "pagemap_scan": True,
    "soft_dirty": True,
    "cpu": {"vendor": "GenuineIntel", "level": 4, "shown": 3, "xsave_bytes": 2696},
}
FILES = {
    "/proc/sys/kernel/osrelease": "6.8.0",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "/proc/sys/vm/overcommit_memory": "0",
    "/proc/cpuinfo": "flags : fpu avx avx2",
    "/proc/self/status": "Seccomp:\t0",
    "/dev/shm/segment": "",
}
PROGRAMS = {
    "gdb --version": (0, "GNU gdb (Debian 13.1-3) 13.1\nCopyright"),
    "gdb -nx": (0, "3.11.2"),
    "mpirun --version": (0, "mpirun (Open MPI) 4.1.4\n"),
    "mpicc --showme:version": (0, "mpicc: Open MPI 4.1.4"),
    "ldd": (0, "libmpi.so.40 => /lib/libmpi.so.40"),
}


class Fake(Machine):
    """Everything is there; tests take away."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, {})
        self.answers = dict(PROGRAMS)
        self.sonames = ["libmpi.so.40"]
        self.limits: dict[int, int | None] = {resource.RLIMIT_NOFILE: 1024}
        self.abilities = dict(GOOD)
        self.why_no_abilities = "rdb is not built"
        for path, text in FILES.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        at = self.root / path.lstrip("/")
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)

    def which(self, program: str) -> str | None:
        known = any(command.split()[0] == program for command in self.answers)
        return f"/usr/bin/{program}" if known else None

    def output(self, *command: str) -> tuple[int, str]:
        name = " ".join([Path(command[0]).name, *command[1:]])
        return next(
            (answer for start, answer in self.answers.items() if name.startswith(start)),
            (127, "no such program"),
        )

    def limit(self, which: int) -> int | None:
        return self.limits.get(which)

    @property
    def probes(self) -> tuple[dict[str, Any] | None, str]:
        return (self.abilities, "/rdb-exec") if self.abilities else (None, self.why_no_abilities)

    @property
    def libraries(self) -> str:
        return "".join(f"\t{soname} (libc6,x86-64) => /lib/{soname}\n" for soname in self.sonames)


@pytest.fixture
def fake(tmp_path: Path, rdb_home: Path) -> Fake:
    return Fake(tmp_path / "root")


def by_name(machine: Machine) -> dict[str, Finding]:
    findings = examine(machine)
    names = [found.what for found in findings]
    assert len(set(names)) == len(names)
    for found in findings:
        assert found.meaning, found
        assert "\n" not in found.detail + found.meaning + found.remedy, found
        # Who reads that something is not well reads what to do.
        assert found.state is State.OK or found.remedy, found
    return {found.what: found for found in findings}


def test_where_all_is_there_all_is_ok(fake: Fake) -> None:
    found = by_name(fake)
    assert [one for one in found.values() if one.state is not State.OK] == []
    assert works(found.values())
    assert found["Open MPI"].detail == "libmpi.so.40, mpirun 4.1.4, mpicc"
    assert found["CPU"].detail == "GenuineIntel, x86-64-v4, programs are shown v3"


def without(*names: str) -> Callable[[Fake], None]:
    def take(machine: Fake) -> None:
        for name in names:
            machine.abilities[name] = False

    return take


def no_avx(machine: Fake) -> None:
    machine.abilities = {}
    machine.why_no_abilities = (
        "--probe: exit 125: rdb: this processor, or the virtual machine, has no AVX: rdb needs"
    )


def not_built(machine: Fake) -> None:
    machine.abilities = {}


def no_gdb(machine: Fake) -> None:
    del machine.answers["gdb --version"], machine.answers["gdb -nx"]


def answering(command: str, code: int, text: str) -> Callable[[Fake], None]:
    return lambda machine: machine.answers.update({command: (code, text)})


def file(path: str, text: str) -> Callable[[Fake], None]:
    return lambda machine: machine.write(path, text)


def limited(which: int, value: int) -> Callable[[Fake], None]:
    return lambda machine: machine.limits.update({which: value})


def no_mpi(machine: Fake) -> None:
    for command in ("mpirun --version", "mpicc --showme:version"):
        del machine.answers[command]
    machine.sonames = []


def mpich(machine: Fake) -> None:
    machine.answers["mpiexec.hydra --version"] = (
        0,
        "HYDRA build details:\n    Version:    4.0.2\n",
    )


def down(machine: Fake) -> None:
    machine.write("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN")
    machine.write("/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand")


def locked(machine: Fake) -> None:
    down(machine)
    machine.write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE")
    machine.limits[resource.RLIMIT_MEMLOCK] = 65536


def no_shm(machine: Fake) -> None:
    shutil.rmtree(machine.root / "dev/shm")


@pytest.mark.parametrize(
    ("change", "what", "state", "essential", "said"),
    [
        (without("sud"), "system calls", "degraded", True, "Linux 5.11"),
        (without("sud", "seccomp"), "system calls", "missing", True, "nothing can be recorded"),
        (without("fsgsbase"), "FSGSBASE", "degraded", False, "Linux 5.9"),
        (without("tsc_faulting"), "rdtsc faulting", "degraded", False, "use rdtsc cannot be"),
        (without("perf_breakpoints"), "hardware breakpoints", "degraded", False, "Linux 5.13"),
        (without("pagemap_scan"), "dirty pages", "degraded", False, "Linux 6.7"),
        (without("userfaultfd", "pagemap_scan"), "dirty pages", "degraded", False, "profile"),
        (no_avx, "CPU", "missing", True, "AVX"),
        (not_built, "rdb-exec", "missing", True, "rdb is not built"),
        (no_gdb, "gdb", "missing", True, "apt-get install gdb"),
        (no_gdb, "gdb's Python", "missing", True, "apt-get install gdb"),
        (answering("gdb --version", 0, "GNU gdb 9.2"), "gdb", "degraded", True, "GDB 12 or newer"),
        (answering("gdb --version", 1, "cannot load"), "gdb", "missing", True, "'cannot load'"),
        (
            answering("gdb -nx", 1, "Scripting in Python is not supported"),
            "gdb's Python",
            "missing",
            True,
            "not supported",
        ),
        (file("/proc/sys/kernel/yama/ptrace_scope", "2"), "ptrace scope", "degraded", False, "=1"),
        (
            file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
            "huge pages",
            "degraded",
            False,
            "echo madvise",
        ),
        (file("/proc/sys/vm/overcommit_memory", "2"), "overcommit", "degraded", False, "=0"),
        (limited(resource.RLIMIT_NOFILE, 64), "open files", "degraded", False, "ulimit -n"),
        (limited(resource.RLIMIT_STACK, 65536), "stack", "degraded", False, "ulimit -s"),
        (limited(resource.RLIMIT_FSIZE, 1 << 20), "file size", "degraded", False, "1 MiB"),
        (limited(resource.RLIMIT_AS, 1 << 32), "address space", "degraded", False, "4 GiB"),
        (locked, "locked memory", "degraded", False, "ulimit -l unlimited"),
        (down, "RDMA device mlx5_0", "degraded", False, "InfiniBand: down"),
        (no_mpi, "MPI", "degraded", False, "apt-get install libopenmpi-dev"),
        (no_mpi, "mpirun", "degraded", False, "apt-get install openmpi-bin"),
        (mpich, "MPICH", "degraded", False, "mpiexec.hydra 4.0.2"),
        (
            answering("ldd", 0, "\tlibmpi.so.40 => not found\n"),
            "Open MPI",
            "degraded",
            False,
            "does not find libmpi.so.40",
        ),
        (answering("srun --version", 1, "fatal"), "Slurm", "degraded", False, "SLURM_CONF"),
        (no_shm, "/dev/shm", "degraded", False, "mount a tmpfs"),
    ],
)
def test_what_is_lacking_is_named_with_its_remedy(
    fake: Fake,
    change: Callable[[Fake], None],
    what: str,
    state: str,
    essential: bool,
    said: str,
) -> None:
    change(fake)
    found = by_name(fake)
    one = found[what]
    assert (one.state, one.essential) == (state, essential)
    assert said in f"{one.detail}; {one.meaning}; {one.remedy}"
    assert works(found.values()) is (state != "missing" or not essential)


def test_perf_that_is_forbidden_says_by_which_setting(fake: Fake) -> None:
    fake.write("/proc/sys/kernel/perf_event_paranoid", "3")
    fake.abilities["perf_breakpoints"] = False
    assert by_name(fake)["hardware breakpoints"].remedy.startswith(
        "sysctl kernel.perf_event_paranoid=2"
    )


def test_an_active_rdma_port(fake: Fake) -> None:
    down(fake)
    fake.write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE")
    one = by_name(fake)["RDMA device mlx5_0"]
    assert (one.state, one.detail) == (State.OK, "InfiniBand: active")


def test_pyverbs_says_its_place_and_the_devices(fake: Fake) -> None:
    assert by_name(fake)["pyverbs"].detail == "not installed"
    fake.answers["python3 -c"] = (0, "/usr/lib/python3/dist-packages/pyverbs\nrxe0, ports: 1")
    detail = "/usr/lib/python3/dist-packages/pyverbs: rxe0, ports: 1"
    assert by_name(fake)["pyverbs"].detail == detail


def test_pyverbs_is_imported_only_to_show_devices(tmp_path: Path) -> None:
    """By the probe, in a process of its own."""
    (tmp_path / "pyverbs").mkdir()
    (tmp_path / "pyverbs/__init__.py").write_text("raise SystemExit('imported')")
    source = (
        "import sys, rdb.cli\n"
        "assert not [m for m in sys.modules if m.startswith('rdb.doctor')]\n"
        "import rdb.doctor.rdma\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", source], env=env, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("/.dockerenv", "", "Docker"),
        ("/run/.containerenv", "", "Podman"),
        ("/proc/1/cgroup", "0::/kubepods/burstable/pod1", "kubepods"),
    ],
)
def test_containers(fake: Fake, path: str, text: str, kind: str) -> None:
    fake.write(path, text)
    assert by_name(fake)["container"].detail == kind
    fake.write("/proc/self/status", "Name:\tx\nSeccomp:\t2\n")
    assert by_name(fake)["container"].detail == f"{kind}, system calls are filtered"


# ---- the store ----


def test_a_store_that_others_may_write_to(fake: Fake, rdb_home: Path) -> None:
    """What doctor calls missing is what the other commands refuse."""
    rdb_home.mkdir()
    rdb_home.chmod(0o777)
    with pytest.raises(NotYours):
        check_store(str(rdb_home))
    one = by_name(fake)["store's privacy"]
    assert (one.state, one.remedy) == (State.MISSING, f"chmod go-w {rdb_home}")
    rdb_home.chmod(0o755)
    assert by_name(fake)["store's privacy"].state is State.DEGRADED
    rdb_home.chmod(0o700)
    assert by_name(fake)["store's privacy"].state is State.OK


def test_a_store_that_cannot_be(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDB_HOME", "/proc/nowhere/rdb")
    found = by_name(fake)
    assert found["store"].state is State.MISSING
    assert not works(found.values())


def test_probing_the_store_leaves_nothing(fake: Fake, rdb_home: Path) -> None:
    before = sorted(rdb_home.parent.iterdir())
    assert by_name(fake)["store"].state is State.OK
    assert sorted(rdb_home.parent.iterdir()) == before


# ---- the command ----


def test_this_machine(rdb: Rdb) -> None:
    """Tests run only where recording works, so nothing essential is missing."""
    done = rdb("doctor", "--json")
    assert done.returncode == 0, done.stdout
    found = {one["what"]: one for one in json.loads(done.stdout)}
    assert found["system calls"]["state"] in ("ok", "degraded")
    assert found["gdb's Python"]["state"] == "ok"
    keys = {"group", "what", "state", "detail", "meaning", "remedy", "essential"}
    assert all(set(one) == keys for one in found.values())
    assert {one["state"] for one in found.values()} <= {"ok", "degraded", "missing"}


def test_without_programs(rdb: Rdb, tmp_path: Path) -> None:
    done = rdb("doctor", env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 1
    assert re.search(r"missing +gdb +not in PATH\n", done.stdout), done.stdout
    assert "-> apt-get install gdb\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "rdb does not work here; missing: gdb, gdb's Python"


def test_eighty_columns_are_enough(rdb_home: Path) -> None:
    """On a terminal nothing is cut and nothing is wrapped by the terminal."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, struct.pack("4H", 50, 80, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    env.update(TERM="xterm", PATH="/nonexistent")
    with subprocess.Popen(
        [sys.executable, "-m", "rdb", "doctor"], stdin=slave, stdout=slave, stderr=slave, env=env
    ) as child:
        os.close(slave)
        screen = b""
        try:
            while piece := os.read(master, 65536):
                screen += piece
        except OSError:  # EIO: the last writer has gone
            pass
        finally:
            os.close(master)
        assert deadlines.wait(child, TIMEOUT_S) == 1
    text = re.sub(r"\x1b\[[0-9;]*m", "", screen.decode()).replace("\r", "")
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines[:-1])) <= 80
    assert "…" not in text
    assert "  missing  gdb" in text
