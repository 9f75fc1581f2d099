"""The same program in unusual surroundings: what rdb's commands say of it is the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import deadlines
import pytest
from conftest import TIMEOUT_S, Build, Rdb

# What a shell does before it runs the command; in a directory of its own.  What has nothing to do
# with each other is tried together.
SURROUNDINGS = {
    "time zone, C, dumb terminal, umask": """export TZ=Pacific/Chatham LC_ALL=C TERM=dumb
unset LANG; umask 077""",
    "POSIX, no terminal's name, no home": "unset LANG TERM HOME; export LC_ALL=POSIX",
    "UTF-8, home that cannot be written, one processor": """export LC_ALL=C.UTF-8 HOME=/proc
taskset -p -c 0 $$ > said""",
    "no standard input, unlimited stack": "exec <&-; ulimit -s unlimited",
    "no path, no core files": "unset PATH; ulimit -c 0",
    "few descriptors, standard input that has ended": "ulimit -n 128; exec < <(:)",
    # SCHED_IDLE, or the lowest priority, gets next to nothing of a processor that others use
    "small stack, batch, nice": "chrt -b -p 0 $$; renice -n 5 -p $$ > said; ulimit -s 256",
    "little address space": "ulimit -v 4000000",
    "ignored signals, deep directory": """trap "" PIPE CHLD INT HUP TERM
for i in {1..12}; do mkdir $(printf %0200d 1); cd $(printf %0200d 1); done""",
    "blocked signals": """set -- python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
os.execvp(sys.argv[1], sys.argv[1:])' "$@\"""",
    "large environment": "for i in {1..8}; do export LARGE$i=$(printf %0131000d 1); done",
    "decimal comma": """test -d ../locale || {
mkdir ../locale; localedef -i de_DE -f UTF-8 ../locale/de_DE.UTF-8; }
set -- env LOCPATH=$PWD/../locale LC_ALL=de_DE.UTF-8 "$@\"""",
}


class Said(NamedTuple):
    run: tuple[int, str]
    replay: tuple[int, str]
    bisect: tuple[int, str]
    attach: tuple[int, list[str]]
    info: tuple[int, object]
    ls: list[str]


def commands(folder: Path, program: Path, before: str) -> Said:
    folder.mkdir()
    script = folder / "script"
    script.write_text("print total\nbreak main\nreverse-continue\nprint total\n")

    def rdb(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        shell = ["/bin/bash", "-c", f'{before}\nexec "$@"', "bash", sys.executable, "-m", "rdb"]
        return deadlines.run(
            [*shell, *map(str, arguments)],
            TIMEOUT_S,
            cwd=folder / "in",
            env={**os.environ, "RDB_HOME": str(folder / "home")},
            stdin=subprocess.DEVNULL,
        )

    def fresh(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """In an empty directory."""
        subprocess.run(["rm", "-rf", folder / "in"], check=True)
        (folder / "in").mkdir()
        return rdb(*arguments)

    run = fresh("run", "--name", "job", "--", program)
    replay = fresh("replay", "job", "--verify")
    assert replay.returncode == 0, run.stderr + replay.stdout + replay.stderr
    bisect = fresh("bisect", "job", "total < 5")
    attach = fresh("attach", "job", "-x", script)
    info = fresh("info", "job", "--json")
    told = json.loads(info.stdout)
    ls = json.loads(fresh("ls", "--json").stdout)
    return Said(
        (run.returncode, run.stderr),
        (replay.returncode, re.sub(", memory 0x.*", "", replay.stdout)),  # the environment is in it
        (bisect.returncode, re.sub(", recorded .*", "", bisect.stdout)),
        (
            attach.returncode,
            [line for line in attach.stdout.splitlines() if line.startswith("0: $")],
        ),
        (info.returncode, (told["nranks"], told["name"])),
        [one["job"] for one in ls],
    )


@pytest.fixture(scope="module")
def program(build: Build) -> Path:
    return build("sums.c")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Said:
    said = commands(tmp_path_factory.mktemp("usual") / "job", program, "")
    assert said.run[0] == 3 and said.ls == ["job"] and "sums.c:" in said.bisect[1]
    assert said.attach == (0, ["0: $1 = 10", "0: $2 = 0"])
    return said


@pytest.mark.parametrize("before", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_all_is_as_usual(before: str, usual: Said, program: Path, tmp_path: Path) -> None:
    assert commands(tmp_path / "job", program, before) == usual


ANOTHER = 'set -- setpriv --reuid 4711 --regid 4711 --clear-groups "$@"'
_OWN = "mkdir -p ../mine; chown 4711 ../mine; export HOME=$PWD/../mine"
HOMES = {"own": _OWN, "another's": "export HOME=/root", "read-only": f"{_OWN}; chmod 555 $HOME"}


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """One that other users may write to: pytest's own are closed to them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        os.chmod(path, 0o777)
        yield Path(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("home", HOMES.values(), ids=HOMES)
def test_as_another_user(home: str, usual: Said, program: Path, open_directory: Path) -> None:
    copy = shutil.copy(program, open_directory)
    prepare = "test -e ../home || { mkdir ../home; chown 4711 ../home; chmod 755 ..; }"
    assert commands(open_directory / "job", Path(copy), f"{prepare}\n{home}\n{ANOTHER}") == usual


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("closed", ["the home", "the store"])
def test_a_store_that_is_closed_to_us_is_told(closed: str, open_directory: Path) -> None:
    home = open_directory / "home"
    (home / ".local/state/rdb/job").mkdir(parents=True)
    home.chmod(0o700)
    place = {"the home": {"HOME": str(home)}, "the store": {"RDB_HOME": f"{home}/.local/state/rdb"}}
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "RDB_HOME")}
    words = ["info", "rm", "replay", "attach", "pack", "timeline", "checkpoint"]
    for line in [*([word, "job"] for word in words), ["ls"], ["run", "/bin/true"]]:
        rdb = [sys.executable, "-m", "rdb", *line]
        done = deadlines.run(
            ["/bin/bash", "-c", f'{ANOTHER}\nexec "$@"', "bash", *rdb],
            TIMEOUT_S,
            cwd=open_directory,
            env={**env, **place[closed]},
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == (125 if line[0] == "run" else 4), (line, done.stderr)
        (said,) = done.stderr.splitlines()
        assert re.search(f"^rdb: .*{home}.*: Permission denied; .*RDB_HOME", said), said


def test_no_standard_output(usual: Said, program: Path, tmp_path: Path) -> None:
    """What has no place to go is lost, and nothing else."""
    line = [sys.executable, "-m", "rdb", "run", "--name", "job", "--", str(program)]
    environment = {**os.environ, "RDB_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        ["/bin/bash", "-c", 'exec "$@" >&-', "bash", *line],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == usual.run


def test_a_directory_that_was_removed(program: Path, tmp_path: Path) -> None:
    done = deadlines.run(
        [
            *("/bin/bash", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$@"', "bash"),
            *(sys.executable, "-m", "rdb", "run", "--", str(program)),
        ],
        TIMEOUT_S,
        cwd=tmp_path,
        env={**os.environ, "RDB_HOME": str(tmp_path / "home")},
    )
    said = "rdb: the current directory was removed; change to another directory and run again\n"
    assert (done.returncode, done.stderr) == (125, said)
    assert not list((tmp_path / "home").iterdir())


def test_what_is_inherited_of_signals_is_the_programs(tmp_path: Path) -> None:
    """As without rdb, but for SIGPIPE and SIGXFSZ, which Python ignores, and for libc's own two,
    which whoever was started by posix_spawn (3), as by make, may ignore."""
    inherits = ["/bin/sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status"]
    rdb = [sys.executable, "-m", "rdb", "run", "--name", "job", "--"]
    before = """trap "" CHLD INT HUP USR1
exec python3 -c 'import ctypes, os, signal, sys
for own in (32, 33): ctypes.CDLL(None).syscall(13, own, bytes(32), None, 8)  # rt_sigaction
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGCHLD})
signal.signal(signal.SIGPIPE, 0), signal.signal(signal.SIGXFSZ, 0)
os.execvp(sys.argv[1], sys.argv[1:])' "$@\""""

    def said(line: list[str]) -> str:
        return subprocess.run(
            ["/bin/bash", "-c", before, "bash", *line],
            env={**os.environ, "RDB_HOME": str(tmp_path)},
            stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=True,
        ).stdout  # fmt: skip

    plain = said(inherits)
    assert plain.count("Sig") == 2
    assert said([*rdb, *inherits]) == plain


LINKER = """LD_TRACE_LOADED_OBJECTS=1 /bin/true | grep -c libm.so
LD_DEBUG=libs /bin/true 2>&1 | grep -c 'calling init: .*libm.so'
ldd /bin/ls | grep -o '=> [^ ]*'
LD_PRELOAD=/none.so /bin/true
LD_PRELOAD=/none.so env 2>/dev/null | grep LD_PRELOAD
env | grep -c ^rdb:"""


def test_variables_of_the_dynamic_linker_are_for_the_program(rdb: Rdb) -> None:
    """rdb-exec has a dynamic linker, too."""
    line = ["/bin/sh", "-c", LINKER]
    environment = {**os.environ, "LD_WARN": "1"}
    plain = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    done = rdb("run", "--name", "job", "--", *line, env=environment)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert [one for one in done.stderr.splitlines() if "ld.so" in one] == plain.stderr.splitlines()
    assert rdb("replay", "job", "--verify").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_program_that_may_not_write_its_log_goes_on(rdb: Rdb) -> None:
    script = "echo a; /bin/echo b; exec setpriv --reuid 4711 --clear-groups /bin/echo c"
    done = rdb("run", "--name", "job", "--", "/bin/sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "a\nb\nc\n"), done.stderr
    assert re.search("(?m)^rdb: .*: Permission denied: .*echo runs unrecorded$", done.stderr)
    assert rdb("replay", "job", "--verify").returncode == 0


def test_what_is_refused_says_why(program: Path, tmp_path: Path) -> None:
    done = deadlines.run(
        [
            *("/bin/bash", "-c", 'ulimit -f 4\nexec "$@"', "bash"),
            *(sys.executable, "-m", "rdb", "run", "--", str(program)),
        ],
        TIMEOUT_S,
        env={**os.environ, "RDB_HOME": str(tmp_path / "home")},
    )
    assert done.returncode in (125, 153)
    line = "(?m)^rdb: nothing was recorded: its log reached the limit for a file.s size"
    assert re.search(line, done.stderr), done.stderr


LOADED = """
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void)
{
    char exe[512] = "";
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0 && strstr(exe, "/rdb-exec"))
        creat(getenv("LOADED"), 0600);
}
"""


def test_what_is_preloaded_does_not_get_below_the_program(
    rdb: Rdb, build_text: Callable[..., Path], tmp_path: Path
) -> None:
    library = build_text("loaded.so", LOADED, "-shared", "-fPIC")
    loaded = tmp_path / "loaded"
    environment = {**os.environ, "LD_PRELOAD": str(library), "LOADED": str(loaded)}
    assert rdb("run", "--name", "job", "--", "true").returncode == 0
    for line in (
        ["replay", "job", "--verify"],
        ["restart", "job", "--name", "branch"],
        ["attach", "job", "-x", os.devnull],
    ):
        done = rdb(*line, env=environment)
        assert done.returncode == 0, done.stderr
        assert not loaded.exists(), line
