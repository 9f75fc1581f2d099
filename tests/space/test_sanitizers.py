"""Programs that choose their addresses, as those of AddressSanitizer do: data above the arena."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import deadlines
import mpis
import pytest
from alone import record, verify_all
from conftest import Build, Rdb, replay_agrees


@pytest.fixture(autouse=True)
def _no_search_for_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")


def test_memory_at_chosen_addresses(tmp_path: Path, build: Build) -> None:
    """As natively; images have what is there, and find the little that is used of much."""
    program = build("chosen_addresses.c", "-O1")
    native = deadlines.native([program, tmp_path / "file"])
    options = ("--checkpoint-every", "40")
    made = record(tmp_path, program, tmp_path / "file", options=options)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result.stderr
    verify_all(made, "chosen")


def test_live_again_at_chosen_addresses(rdb: Rdb, tmp_path: Path, build: Build) -> None:
    program = build("chosen_addresses.c", "-O1")
    done = rdb("run", "--name", "first", "--", program, tmp_path / "file")
    assert done.returncode == 0, done.stderr
    again = rdb("restart", "first", "--at", "240", "--name", "again")
    assert again.returncode == 0 and again.stdout, again.stderr
    assert done.stdout.endswith(again.stdout)
    replay_agrees(rdb, "again")


def test_no_code_at_chosen_addresses(rdb: Rdb, build_text: Callable[..., Path]) -> None:
    """It could make system calls that nobody records."""
    program = build_text(
        "code",
        r"""
        #include <errno.h>
        #include <stdio.h>
        #include <sys/mman.h>
        int main(void)
        {
            void *at = (void *)0x600000000000;
            const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
            const int rwx = PROT_READ | PROT_WRITE | PROT_EXEC;
            printf("%d", mmap(at, 4096, rwx, flags, -1, 0) == MAP_FAILED && errno == EACCES);
            printf("%d", mmap(at, 4096, PROT_READ, flags, -1, 0) == at);
            printf("%d", mprotect(at, 4096, PROT_EXEC) == -1 && errno == EACCES);
            void *code = mmap(NULL, 4096, rwx, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            const int move = MREMAP_MAYMOVE | MREMAP_FIXED;
            printf("%d\n", mremap(code, 4096, 4096, move, at) == MAP_FAILED && errno == EACCES);
            return 0;
        }
        """,
        "-D_GNU_SOURCE",
    )
    assert rdb("run", "--name", "code", "--", program).stdout == "1111\n"
    replay_agrees(rdb, "code")


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "leak", "address,undefined"])
def test_a_clean_program(
    rdb: Rdb, build: Build, sanitizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSAN_OPTIONS", "detect_leaks=0")
    program = build("sanitized.c", "-O1", "-g", f"-fsanitize={sanitizer}")
    done = rdb(
        "run", "--name", "clean", "--checkpoint-every", "10events", "--hash-every", "3",
        "--", program, "clean",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "190\n"), done.stderr
    replay_agrees(rdb, "clean")


def test_an_error_that_it_finds(rdb: Rdb, build: Build) -> None:
    """The report is the program's; the way back leads to the statement that changed a variable."""
    program = build("sanitized.c", "-O0", "-w", "-fsanitize=address")
    done = rdb("run", "--name", "freed", "--", program, "freed")
    assert (done.returncode, done.stdout) == (1, "190\n"), done.stderr
    assert "heap-use-after-free" in done.stderr
    assert re.search(r"#0 0x\w+ in add \S*sanitized\.c:12\n", done.stderr), done.stderr
    replay_agrees(rdb, "freed")
    found = rdb("bisect", "freed", "total < 100")
    assert "total, sanitized.c" in found.stdout, found.stdout
    assert "written by sanitized.c:12" in found.stdout, found.stdout


def test_a_search_for_leaks_is_refused(
    rdb: Rdb, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under a debugger, and at once; rdb says what would do."""
    monkeypatch.delenv("ASAN_OPTIONS")
    program = build("sanitized.c", "-O1", "-g", "-fsanitize=address")
    done = rdb("run", "--name", "leaks", "--", program, "clean")
    assert (done.returncode, done.stdout) == (1, "190\n"), done.stderr
    assert "LeakSanitizer does not work under ptrace" in done.stderr
    assert "clone with CLONE_VM and CLONE_UNTRACED cannot be recorded" in done.stderr
    assert "detect_leaks=0" in rdb("info", "leaks").stdout
    replay_agrees(rdb, "leaks")


def test_without_a_recording(rdb: Rdb, build: Build) -> None:
    """A checkpoint holds the heap that AddressSanitizer has mapped."""
    program = build("sanitized.c", "-O1", "-g", "-fsanitize=address")
    options = ("--record=off", "--checkpoint-every", "1s", "--name", "off")
    done = rdb("run", *options, "--", program, "slow")
    assert (done.returncode, done.stdout) == (0, "190\n"), done.stderr
    again = rdb("restart", "off", "--name", "again")
    assert (again.returncode, again.stdout) == (0, "190\n"), again.stderr


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_under_mpi(mpi: str, rdb: Rdb, build: Build) -> None:
    mpis.needs(mpi)
    program = build("mpi/collectives.c", "-O1", "-fsanitize=address", compiler=f"mpicc.{mpi}")
    done = rdb("run", "--mpi", mpi, "--name", "job", "-n", "2", "--hash-every", "5", "--", program)
    assert done.returncode == 0, done.stderr
    replay_agrees(rdb, "job")
    again = rdb("restart", "job", "--at", "20", "--name", "again")
    assert again.returncode == 0, again.stderr
    replay_agrees(rdb, "again")
