"""System calls caught by the seccomp filter, where the kernel has no Syscall User Dispatch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from alone import BUILDS, build, record
from conftest import Build, Rdb

from rdb.paths import rdb_exec_path
from rdb.recording import open_job

# In its own file the program sees only its own filters: its child reads the kernel's.
STATUS = ("/bin/sh", "-c", "/bin/grep Seccomp /proc/$$/status; :;")


@pytest.fixture(autouse=True)
def filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDB_DISPATCH", "seccomp")


def filters(output: str) -> int:
    """How many filters the program was under, as the kernel says."""
    lines = dict(line.split(":") for line in output.splitlines())
    assert int(lines["Seccomp"]) in (0, 2)
    return int(lines["Seccomp_filters"])


def natively() -> int:
    return filters(subprocess.run(STATUS, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("how", BUILDS)
@pytest.mark.parametrize("source", ["basics.c", "memory.c", "objects.cc"])
def test_replay_equals_the_recording(source: str, how: str, tmp_path: Path) -> None:
    program = build(source, tmp_path, *BUILDS[how])
    made = record(tmp_path, program, "one", "two words")
    assert made.result.returncode == (3 if source == "basics.c" else 0), made.result.stderr
    made.expect_equal()


def test_signals(tmp_path: Path) -> None:
    program = build("signals.c", tmp_path)
    native = deadlines.native([program])
    made = record(tmp_path, program)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result.stderr
    made.expect_equal()


@pytest.mark.slow
def test_a_program_of_the_distribution(tmp_path: Path) -> None:
    code = "import json, random; print(json.dumps(random.random()))"
    made = record(tmp_path, "/usr/bin/python3", "-c", code)
    assert made.result.returncode == 0, made.result.stderr
    made.expect_equal()


@pytest.mark.parametrize("replayed_by", ["sud", "seccomp"])
def test_either_way_replays_what_the_other_recorded(
    replayed_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded_by = {"sud": "seccomp", "seccomp": "sud"}[replayed_by]
    monkeypatch.setenv("RDB_DISPATCH", recorded_by)
    made = record(tmp_path, *STATUS)
    assert filters(made.result.stdout) == natively() + (recorded_by == "seccomp")
    monkeypatch.setenv("RDB_DISPATCH", replayed_by)
    made.expect_equal()


def test_children_and_their_programs_are_under_one_filter(rdb: Rdb) -> None:
    """It is inherited; a second one would tax every call once more."""
    script = f"{STATUS[2]} sh -c 'exec sh -c \"{STATUS[2]}\"'; ls / | wc -l"
    done = rdb("run", "--name", "job", "--hash-every", "1", "--", "/bin/sh", "-c", script)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert filters("\n".join(lines[:2])) == filters("\n".join(lines[2:4])) == natively() + 1
    assert int(lines[4]) == len([entry for entry in os.listdir("/") if entry[0] != "."])
    assert len(list(open_job("job").processes())) == 6
    results = json.loads(rdb("replay", "job", "--json").stdout)
    assert len(results) >= 8
    assert all(result["ok"] and result["hashes"] for result in results), results


def test_native_children_are_left_alone(rdb: Rdb, tmp_path: Path, build: Build) -> None:
    """Threads, which rdb-exec would have a hand in, run as they do without it."""
    threads = build("threads.c", "-pthread")
    native = subprocess.run([threads], capture_output=True, text=True, check=True)
    script = f"{threads}; echo $?"
    done = rdb("run", "--name", "job", "--no-children", "--", "/bin/sh", "-c", script)
    assert done.stdout == native.stdout + "0\n", done.stderr
    assert [process.name for process in open_job("job").processes()] == ["0"]


def test_without_privileges() -> None:
    """A filter asks for no_new_privs then, and only then."""
    if os.geteuid() != 0:
        pytest.skip("every other test here ran without privileges")
    setpriv = shutil.which("setpriv")
    assert setpriv is not None
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    folder.chmod(0o755)
    for path in (folder / "d", folder / "f"):
        path.mkdir()
        path.chmod(0o777)
    command = [
        *(setpriv, "--reuid", "65534", "--clear-groups", "--bounding-set=-all"),
        *(rdb_exec_path(), "--dir", folder / "d", "--files", folder / "f"),
        *("--", "/bin/grep", "NoNewPrivs", "/proc/self/status"),
    ]
    done = deadlines.native(command, check=False)
    shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["NoNewPrivs:", "1"]


def test_a_32_bit_call_is_named(tmp_path: Path, build_text: Callable[..., Path]) -> None:
    """Its number means something else: getpid is 20, which is writev with 64 bits."""
    text = 'int main(void) { int r; __asm__("int $0x80" : "=a"(r) : "0"(20)); return r < 0; }'
    made = record(tmp_path, build_text("compat", text))
    assert made.result.returncode == 125
    assert "32-bit system call (int $0x80), number 20" in made.result.stderr
