"""rdb on Debian's own kernel, without any RDMA: programs and an MPI job, recorded and replayed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vm.conftest import booted
from vm.guest import Guest
from vm.recording import Recording, all_equal

pytestmark = pytest.mark.rdma
TIMEOUT_S = 120
ROOT = Path(__file__).resolve().parents[2]
RDB = f"{shlex.quote(sys.executable)} -m rdb"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

THREADS = """
import threading
seen = []
threads = [threading.Thread(target=lambda i=i: seen.append(i * i)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(seen))
"""


def record(guest: Guest, name: str, command: str, prints: str, hash_every: int) -> None:
    recording = Recording(f"/tmp/{name}", hash_every)
    ran = guest.run(recording.of(command), timeout_s=TIMEOUT_S)
    assert (ran.code, ran.out, ran.err) == (0, prints, "")
    answers = recording.verify(guest, TIMEOUT_S)
    assert all_equal(answers), answers


@pytest.fixture(scope="module")
def old(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """As kernels before 5.9: no FSGSBASE instructions."""
    for machines in booted(1, "nofsgsbase"):
        yield machines[0]


def test_true(alone: Guest) -> None:
    record(alone, "true", "/bin/true", "", 1)


def test_python_with_threads(alone: Guest) -> None:
    command = f"python3 -c {shlex.quote(THREADS)}"
    record(alone, "threads", command, "[0, 1, 4, 9]\n", 20)


def test_python_with_threads_where_fsgsbase_is_emulated(old: Guest) -> None:
    assert old.run("grep -cw fsgsbase /proc/cpuinfo").out == "0\n"
    command = f"python3 -c {shlex.quote(THREADS)}"
    record(old, "threads", command, "[0, 1, 4, 9]\n", 20)


def test_an_mpi_job(alone: Guest) -> None:
    env = {**AS_ROOT, "RDB_HOME": "/tmp/home", "PYTHONPATH": str(ROOT)}
    source = ROOT / "demos/heat/heat.c"
    made = alone.run(f"mpicc -g -O1 {source} -o /tmp/heat -lm", timeout_s=TIMEOUT_S)
    assert made.code == 0, made.text
    ran = alone.run(f"{RDB} run -n 2 -- /tmp/heat 32", cwd="/tmp", env=env, timeout_s=TIMEOUT_S)
    assert ran.code == 0 and "total heat" in ran.out, ran.text
    verified = alone.run(f"{RDB} replay heat-1 --verify", env=env, timeout_s=TIMEOUT_S)
    assert verified.code == 0, verified.text
    assert verified.out.count("agree") == 2, verified.text
