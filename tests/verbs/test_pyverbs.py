"""pyverbs on our libibverbs: Debian's package, and rdma-core's own tests where they are there."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import PROGRAMS, Rdb

PYTHON = "/usr/bin/python3"
RDMA_CORE_TESTS = Path("/usr/share/doc/rdma-core/tests")


def test_pyverbs_is_recorded_and_replayed(rdb: Rdb) -> None:
    options = ("--hca=soft", "--name", "py", "--hash-every=20")
    done = rdb("run", *options, "--", PYTHON, PROGRAMS / "verbs_pyverbs.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "rdb0 True\n[5, 6] hello from pyverbs\n"
    replayed = rdb("replay", "py")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


# What the device has none of (XRC, dma-buf, raw packets) they skip by themselves.
MODULES = (
    "test_device",
    "test_pd",
    "test_parent_domain",
    "test_mr",
    "CQAPITest",
    "test_cq_events",
    "test_qp.",
    "test_qpex",
    "test_cqex",
    "test_atomic",
    "test_odp",
)


needs_tests = pytest.mark.skipif(
    not RDMA_CORE_TESTS.exists(), reason="rdma-core's tests are not installed"
)


def run_tests(rdb: Rdb, cwd: Path, monkeypatch: pytest.MonkeyPatch, modules: Sequence[str]) -> int:
    """-> how many succeeded; each of the others says why it was skipped."""
    tests = cwd / "tests"
    shutil.copytree(RDMA_CORE_TESTS, tests)
    for packed in tests.glob("*.py.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    device = tests / "test_device.py"
    text = device.read_text()
    if "get_pkey_from_kernel" in text:  # of rdma-core 56, from sysfs
        text = text.replace("def test_get_pkey_index(", "def of_kernels_pkey(")
    # A child of fork(2) must open the device itself (docs/software-hca.md).
    device.write_text(text.replace("def test_multi_process_alloc_dm(", "def in_children("))
    # Those of rdma-core 56 ask the kernel for the interface, and it may have no RDMA.
    asks = cwd / "bin" / "rdma"
    asks.parent.mkdir()
    asks.write_text("#!/bin/sh\necho '[]'\n")
    asks.chmod(0o755)
    monkeypatch.setenv("PATH", str(asks.parent), prepend=os.pathsep)
    words = [PYTHON, "tests/run_tests.py", "-v"]
    for module in modules:
        words += ["-k", module]
    done = rdb("run", "--hca=soft", "--name", "suite", "--", *words)
    assert re.search(r"^OK", done.stderr, re.MULTILINE), done.stderr
    assert done.returncode == 0
    return len(re.findall(r"\.\.\. ok$", done.stderr, re.MULTILINE))


@pytest.mark.slow
@needs_tests
def test_rdma_cores_own_tests(rdb: Rdb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hundred of them in one process, under rdb, which is then replayed."""
    assert run_tests(rdb, tmp_path, monkeypatch, MODULES) > 40
    replayed = rdb("replay", "suite")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@needs_tests
def test_rdma_cores_tests_of_librdmacm(
    rdb: Rdb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not replayed: their processes meet in shared memory."""
    succeeded = run_tests(rdb, tmp_path, monkeypatch, ["tests.test_rdmacm"])
    if not succeeded:
        pytest.skip("the network interface has no device in /sys, which they ask for")
    assert succeeded >= 10
