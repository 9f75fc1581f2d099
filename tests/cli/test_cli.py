"""The command line: what it says, its exit codes, what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Rdb

import rdb as package
from rdb.checked import from_json, to_json
from rdb.cli.jobs import ls_command
from rdb.cli.parser import build_parser
from rdb.recording import FORMAT, Job

ROOT = Path(__file__).parents[2]
BuildText = Callable[..., Path]

END = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	puts("out");
	fputs("err\\n", stderr);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "kill"))
		raise(atoi(argv[2]));
	return argc > 1 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture
def ending(build_text: BuildText) -> Path:
    return build_text("ending", END)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The only line on stderr; nothing else was said, no traceback."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("rdb: ")
    return lines[0]


def test_one_version_everywhere(rdb: Rdb) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert rdb("--version").stdout == f"rdb {project['version']}\n"
    assert package.__version__ == project["version"]
    assert f"version: '{project['version']}'" in (ROOT / "meson.build").read_text()


@pytest.mark.parametrize("code", [0, 3, 255])
def test_run_passes_the_exit_code_and_the_streams_through(
    rdb: Rdb, ending: Path, code: int
) -> None:
    done = rdb("run", "--", ending, code)
    assert done.returncode == code
    assert done.stdout == "out\n"
    end = f"rdb: recorded job ending-1 (1 rank, exit code {code}); rdb attach ending-1\n"
    assert done.stderr == "err\n" + end


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_run_gives_128_plus_the_signal(rdb: Rdb, ending: Path, number: signal.Signals) -> None:
    done = rdb("run", "--", ending, "kill", int(number))
    assert done.returncode == 128 + number
    (row,) = json.loads(rdb("ls", "--json").stdout)
    assert row["state"] == ("killed" if number == signal.SIGKILL else f"signal {int(number)}")


def test_names_are_counted_up_and_may_be_given(rdb: Rdb, ending: Path, rdb_home: Path) -> None:
    for _ in range(2):
        assert rdb("run", ending).returncode == 0
    assert rdb("run", "--name", "mine", "--", ending).returncode == 0
    assert [row["job"] for row in json.loads(rdb("ls", "--json").stdout)] == [
        "ending-1",
        "ending-2",
        "mine",
    ]
    again = rdb("run", "--name", "mine", "--", ending)
    assert again.returncode == 2
    assert one_line(again) == "rdb: there is a job mine already; `rdb rm mine` removes it"
    assert rdb("rm", "ending-2").returncode == 0
    assert sorted(p.name for p in rdb_home.iterdir()) == ["ending-1", "mine"]


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "a b"])
def test_names_that_are_no_folder_names_are_refused(
    rdb: Rdb, ending: Path, rdb_home: Path, name: str
) -> None:
    done = rdb("run", f"--name={name}", "--", ending)
    assert done.returncode == 2
    assert "cannot be a job's name" in one_line(done)
    assert not rdb_home.exists() or not list(rdb_home.iterdir())


def test_everything_is_private(rdb: Rdb, ending: Path, rdb_home: Path) -> None:
    assert rdb("run", ending).returncode == 0
    for path in [rdb_home, *rdb_home.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def _elf(machine: int, bits: int = 2) -> bytes:
    ident = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9)
    return ident + struct.pack("<HHI", 2, machine, 1) + bytes(64)


@pytest.mark.parametrize(
    ("content", "mode", "code", "words"),
    [
        (None, 0, 127, "no such file"),
        (_elf(183), 0o755, 126, "built for AArch64"),
        (_elf(3, 1), 0o755, 126, "built for 32-bit x86"),
        (_elf(62), 0o644, 126, "is not executable"),
        (b"just text\n", 0o755, 126, "neither an ELF program nor a script"),
        (b"", 0o755, 126, "neither an ELF program nor a script"),
        (b"\x7fELF", 0o755, 126, "truncated"),
    ],
)
def test_programs_that_cannot_run_leave_nothing_behind(
    rdb: Rdb,
    rdb_home: Path,
    tmp_path: Path,
    content: bytes | None,
    mode: int,
    code: int,
    words: str,
) -> None:
    program = tmp_path / "prog"
    if content is not None:
        program.write_bytes(content)
        program.chmod(mode)
    for command in (["run"], ["run", "-n", "2"], ["exec"]):
        done = rdb(*command, "--", program)
        assert done.returncode == code
        assert words in one_line(done)
        assert not rdb_home.exists()


def test_a_name_that_is_nowhere_in_path(rdb: Rdb, tmp_path: Path) -> None:
    done = rdb("run", "--", "no-such-program")
    assert (done.returncode, one_line(done)) == (
        127,
        "rdb: no-such-program is not in PATH; check the name and PATH",
    )
    assert rdb("run", "--", tmp_path).returncode == 126


@pytest.mark.parametrize(
    "command",
    [
        ["info", "JOB"],
        ["rm", "JOB"],
        ["replay", "JOB"],
        ["attach", "JOB"],
        ["bisect", "JOB", "x"],
        ["serve", "JOB", "--stdio"],
    ],
)
def test_an_unknown_job_is_exit_4(rdb: Rdb, command: list[str]) -> None:
    done = rdb(*command)
    assert done.returncode == 4
    assert one_line(done).startswith("rdb: no job 'JOB' in ")
    assert done.stdout == ""


@pytest.mark.parametrize("command", [["replay", "--rank", "7"], ["bisect", "--rank", "7"]])
def test_an_unknown_rank_is_exit_4(rdb: Rdb, ending: Path, command: list[str]) -> None:
    rdb("run", ending)
    done = rdb(*command, "ending-1", *(["x"] if command[0] == "bisect" else []))
    assert done.returncode == 4
    assert one_line(done) == "rdb: ending-1 has no rank 7; its ranks: 0"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run"],
        ["run", "-n", "0", "--", "true"],
        ["run", "-n", "x", "--", "true"],
        ["run", "--launcher-arg=-v", "--", "true"],
        ["exec", "--what", "--", "true"],
        ["exec", "--hash-every", "x", "--", "true"],
        ["replay", "a", "--times", "0"],
        ["info"],
        ["serve"],
        ["serve", "a", "--port", "x"],
        ["ls", "x"],
    ],
)
def test_usage_errors_are_one_line_and_exit_2(
    rdb: Rdb, rdb_home: Path, arguments: list[str]
) -> None:
    done = rdb(*arguments)
    assert done.returncode == 2
    one_line(done)
    assert not rdb_home.exists()


def test_an_unknown_option_names_its_command(rdb: Rdb) -> None:
    done = rdb("run", "--bad", "--", "true")
    assert one_line(done) == "rdb: run: unknown arguments: --bad; `rdb run --help`"


@pytest.mark.parametrize("count", ["0", "-1", "0.5", "x"])
def test_a_count_is_a_whole_number(rdb: Rdb, count: str) -> None:
    done = rdb("checkpoint", "job", f"--every={count}")
    line = f"argument --every: '{count}' is not a whole number from 1 on; `rdb checkpoint --help`"
    assert done.returncode == 2 and one_line(done) == f"rdb: checkpoint: {line}"


def test_serving_a_terminal_says_how_to_serve_gdb(rdb: Rdb) -> None:
    ours, theirs = os.openpty()
    try:
        done = rdb("serve", "a-1", stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert "target extended-remote | rdb serve a-1 --rank 0" in one_line(done)


def test_every_command_has_help(rdb: Rdb) -> None:
    (commands,) = (a for a in build_parser()._actions if a.dest == "command")
    assert commands.choices is not None
    for name in commands.choices:
        done = rdb(str(name), "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"usage: rdb {name}")


def test_gdb_missing_is_exit_6(rdb: Rdb, ending: Path, tmp_path: Path) -> None:
    rdb("run", ending)
    env = {**os.environ, "PATH": str(tmp_path)}
    for command in (["attach", "ending-1"], ["bisect", "ending-1", "1"]):
        done = rdb(*command, env=env)
        assert done.returncode == 6
        assert one_line(done) == "rdb: gdb is not in PATH; apt-get install gdb"


def test_mpirun_missing_is_exit_6_and_leaves_nothing(
    rdb: Rdb, ending: Path, rdb_home: Path, tmp_path: Path
) -> None:
    done = rdb("run", "-n", "2", "--", ending, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 6
    assert "mpirun is not in PATH" in one_line(done)
    assert not list(rdb_home.iterdir())


def test_another_format_is_exit_3_and_untouched(rdb: Rdb, ending: Path, rdb_home: Path) -> None:
    rdb("run", ending)
    path = rdb_home / "ending-1" / "job.json"
    meta = from_json(path.read_text())
    path.write_text(to_json({**meta, "format": 99}))
    for command in (["info"], ["replay"], ["attach"], ["rm"]):
        done = rdb(*command, "ending-1")
        assert done.returncode == 3
        assert f"format 99, this rdb reads {FORMAT}" in one_line(done)
    assert rdb("ls").returncode == 0  # the others are still listed
    assert path.exists()


def test_mtbf_alone_is_refused(rdb: Rdb, ending: Path) -> None:
    done = rdb("run", "--mtbf", "100", "--", ending)
    assert done.returncode == 2
    assert one_line(done) == "rdb: run: --mtbf SECONDS is for --checkpoint-every auto"


def test_a_timeline_that_cannot_be_written(rdb: Rdb, ending: Path) -> None:
    rdb("run", "--name", "drawn", ending)
    done = rdb("timeline", "drawn", "-o", "/nonexistent/x.html")
    assert done.returncode == 2
    assert one_line(done).startswith(
        "rdb: timeline: cannot write /nonexistent/x.html: No such file"
    )


def test_a_store_that_cannot_be_written_is_125(rdb: Rdb, ending: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    done = rdb("run", ending, env={**os.environ, "RDB_HOME": str(blocked / "store")})
    assert done.returncode == 125
    assert one_line(done).startswith(f"rdb: cannot write {blocked}")


@pytest.mark.parametrize("how", ["run", "exec"])
def test_a_store_that_others_may_write_to_is_125(
    rdb: Rdb, ending: Path, rdb_home: Path, how: str
) -> None:
    """Smaller codes are the program's."""
    rdb_home.mkdir(exist_ok=True)
    rdb_home.chmod(0o777)
    done = rdb(how, "--", ending)
    assert done.returncode == 125
    assert str(rdb_home) in one_line(done)
    assert rdb("ls").returncode == 4


def test_a_program_is_called_as_it_was_typed(
    rdb: Rdb, build_text: BuildText, tmp_path: Path
) -> None:
    """Its argv[0], and the path by which the kernel says that it was executed."""
    text = """
        #include <stdio.h>
        #include <sys/auxv.h>
        int main(int argc, char **argv) { puts(argv[0]); puts((char *)getauxval(AT_EXECFN)); }
        """
    folder = build_text("says", text).parent
    (folder / "script").write_text("#!/bin/sh\necho $0\n")
    (folder / "script").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    ways = ("./says", "says", f"{folder}/says", f"../{folder.name}/says", "./script", "script")
    for way in ways:
        plain = subprocess.run(
            ["/bin/sh", "-c", way], cwd=folder, env=environment, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        for how in ("run", "exec"):
            done = rdb(how, "--", way, cwd=folder, env=environment)
            assert (done.returncode, done.stdout) == (0, plain.stdout), way


def test_a_full_disk_at_the_start_is_125_and_leaves_nothing(ending: Path, tmp_path: Path) -> None:
    """A file system of 64 KiB in a mount namespace of our own: no room for the first segment."""
    store = tmp_path / "small"
    store.mkdir()
    script = (
        'mount -t tmpfs -o size=64k tmpfs "$1" && shift && "$@"; code=$?; '
        'ls "$RDB_HOME" | grep -v "^lost" ; exit $code'
    )
    unshare = ["unshare", "--mount", "--user", "--map-root-user"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        unshare = ["unshare", "--mount"]
        if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
            pytest.skip("no mount namespaces here")
    done = deadlines.run(
        [*unshare, "sh", "-c", script, "sh", store, sys.executable, "-m", "rdb", "run", ending],
        60,
        env={**os.environ, "RDB_HOME": str(store)},
    )
    assert done.returncode == 125, done
    assert done.stdout == ""
    assert "No space left" in done.stderr or "full" in done.stderr
    assert "Traceback" not in done.stderr


def test_replay_verifies_and_says_the_hash(rdb: Rdb, ending: Path) -> None:
    rdb("run", "--hash-every", "1", "--", ending)
    done = rdb("replay", "ending-1", "--verify", "--times", "3", "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert [result["turn"] for result in results] == [1, 2, 3]
    assert len({result["hash"] for result in results}) == 1
    assert all(result["ok"] and result["hashes"] > 1 for result in results)
    (row,) = json.loads(rdb("ls", "--json").stdout)
    assert {result["events"] for result in results} == {row["events"]}


def test_replay_of_a_changed_log_is_exit_5(rdb: Rdb, ending: Path, rdb_home: Path) -> None:
    rdb("run", "--hash-every", "1", "--", ending)
    log = rdb_home / "ending-1" / "rank-0" / "log-000000.seg"
    data = bytearray(log.read_bytes())
    data[200] ^= 1
    log.write_bytes(data)
    for command in (["replay", "ending-1"], ["attach", "ending-1"]):
        done = rdb(*command)
        assert done.returncode == 5
        assert str(log) in one_line(done) and "expected" in done.stderr and "offset" in done.stderr
    assert json.loads(rdb("ls", "--json").stdout)[0]["state"] == "damaged"
    assert rdb("info", "ending-1").returncode == 5


def test_exec_by_hand_and_by_mpirun_share_one_job(rdb: Rdb, ending: Path, rdb_home: Path) -> None:
    """Ranks of one launch find each other; another launch is another job."""
    assert rdb("exec", "--", ending).returncode == 0
    command = [
        *(shutil.which("mpirun") or "mpirun", "--oversubscribe", "-n", "3"),
        *(sys.executable, "-m", "rdb", "exec", "--", ending),
    ]
    for _ in range(2):
        done = deadlines.run(command, 60)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("out") == 3
    rows = json.loads(rdb("ls", "--json").stdout)
    assert [(row["job"], row["ranks"]) for row in rows] == [
        ("ending-1", [0]),
        ("ending-2", [0, 1, 2]),
        ("ending-3", [0, 1, 2]),
    ]
    assert json.loads(rdb("info", "ending-2", "--json").stdout)["launcher"] == "mpirun"
    done = rdb("rm", "ending-1", "nowhere", "ending-2", "ending-3")
    assert done.returncode == 4 and "nowhere" in done.stderr
    assert [p.name for p in rdb_home.iterdir()] == [".launches"]


def test_run_n_says_its_mpirun_line(rdb: Rdb, ending: Path) -> None:
    """The ranks find the program by the name that was typed: it is their argv[0]."""
    found = {**os.environ, "PATH": f"{ending.parent}:{os.environ['PATH']}"}
    done = rdb("run", "-n", "2", "--launcher-arg=--tag-output", "--", ending.name, env=found)
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("rdb: ") and "mpirun -n 2 " in first and " --tag-output " in first
    assert " exec --job " in first and first.endswith(" -- ending")
    assert last == "rdb: recorded job ending-1 (2 ranks, exit code 0); rdb attach ending-1"
    assert len(re.findall(r"<stdout>: ?out", done.stdout)) == 2
    assert json.loads(rdb("info", "ending-1", "--json").stdout)["nranks"] == 2


def test_ranks_have_the_search_path_of_their_user(rdb: Rdb) -> None:
    """Open MPI's mpirun changes it if it is started by an absolute path."""
    shown = ("/bin/sh", "-c", 'echo "$PATH,$LD_LIBRARY_PATH"')
    found = {**os.environ, "PATH": f"/opt/mine:{os.environ['PATH']}", "LD_LIBRARY_PATH": "/opt/l"}
    done = rdb("run", "-n", "1", "--", *shown, env=found)
    assert done.stdout.strip() == f"{found['PATH']},/opt/l", done.stderr


def test_sigterm_reaches_the_program(rdb: Rdb, build_text: BuildText, rdb_home: Path) -> None:
    program = build_text(
        "waits",
        """
        #include <signal.h>
        #include <unistd.h>
        static void leave(int number) { _exit(40 + (number == SIGTERM)); }
        int main(void) { signal(SIGTERM, leave); write(1, "up\\n", 3); for (;;) pause(); }
        """,
    )
    with subprocess.Popen(
        [sys.executable, "-m", "rdb", "run", "--", program],
        stdout=subprocess.PIPE,
        env={**os.environ, "RDB_HOME": str(rdb_home)},
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"up\n"
        running.terminate()
        assert deadlines.wait(running, 60) == 41


def test_a_job_that_runs_is_shown_and_not_removed(
    rdb: Rdb, build_text: BuildText, rdb_home: Path
) -> None:
    program = build_text(
        "reads",
        "#include <unistd.h>\n"
        'int main(void) { char c; write(1, "up\\n", 3); return read(0, &c, 1) == 1 ? 0 : 9; }',
    )
    with subprocess.Popen(
        [sys.executable, "-m", "rdb", "run", "--", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "RDB_HOME": str(rdb_home)},
    ) as running:
        assert running.stdout is not None and running.stdin is not None
        assert running.stdout.readline() == b"up\n"
        assert json.loads(rdb("ls", "--json").stdout)[0]["state"] == "running"
        refused = rdb("rm", "reads-1")
        assert refused.returncode == 1
        assert one_line(refused) == "rdb: rank 0 of reads-1 still runs; end the job first"
        running.stdin.write(b"x")
        running.stdin.close()
        assert deadlines.wait(running, 60) == 0
    assert json.loads(rdb("ls", "--json").stdout)[0]["state"] == "exited 0"
    assert rdb("rm", "reads-1").returncode == 0


def test_a_job_that_is_removed_while_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rdb.cli.jobs.list_jobs", lambda: [Job(tmp_path / "gone")])
    args = build_parser().parse_args(["ls", "--json"])
    assert (ls_command(args), json.loads(capsys.readouterr().out)) == (0, [])


def test_the_build_installs_every_package() -> None:
    root = Path(__file__).parents[2]
    build = (root / "meson.build").read_text()
    packages = [path.parent.name for path in root.glob("rdb/*/__init__.py")]
    assert packages
    assert [name for name in packages if f"'{name}'" not in build] == []
    modules = [path.name for path in root.glob("rdb/*.py")]
    assert [name for name in modules if f"'rdb/{name}'" not in build] == []


@pytest.mark.parametrize("how", ["run", "exec"])
def test_without_a_recording_nothing_is_left_behind(rdb: Rdb, ending: Path, how: str) -> None:
    done = rdb(how, "--record=off", "--", str(ending), "3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert json.loads(rdb("ls", "--json").stdout) == []


def test_a_slice_is_a_number(rdb: Rdb, ending: Path) -> None:
    done = rdb("exec", "--slice", "soon", "--", str(ending))
    assert done.returncode == 2
    assert one_line(done) == "rdb: exec: --slice soon: not a number"
    assert rdb("run", "--slice", "5", "--name", "sliced", "--", str(ending), "0").returncode == 0


def test_ctrl_c_after_the_answer_is_silent(tmp_path: Path) -> None:
    """What Python still does when a command has ended is not a command that is broken off."""
    script = tmp_path / "late.py"
    script.write_text(
        "import atexit, os, signal, sys\n"
        "from rdb.cli import main\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['rdb', '--version']\n"
        "sys.exit(main())\n"
    )
    done = deadlines.run([sys.executable, script], 60)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert done.stdout.startswith("rdb ")
