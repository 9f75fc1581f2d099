"""Child processes and execve: recorded, named, replayed each alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deadlines
import pytest
from conftest import PROGRAMS, TIMEOUT_S, Build, Rdb
from gdbdriver import DEADLINE_S, Gdb, Recorded
from scenario import everything, go, moved

from rdb.errors import UnknownJob, Usage
from rdb.recording import Job, Kind, ProcessName, open_job
from rdb.recording.log.head import SEGMENT_HEADER
from rdb.session.processes import descendants

PYTHON = "/usr/bin/python3"
FAULTS = [signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE]

Both = Callable[..., Job]


@pytest.fixture
def both(rdb: Rdb, tmp_path: Path, rdb_home: Path) -> Both:
    """Runs a command native and recorded: same output, same code; every process replays."""

    def run(*command: str | Path, hash_every: int | None = 1) -> Job:
        line = list(map(str, command))
        native = deadlines.run(line, TIMEOUT_S, cwd=tmp_path, stdin=subprocess.DEVNULL)
        hashes = ["--hash-every", str(hash_every)] if hash_every is not None else []
        recorded = rdb("run", "--name", "job", *hashes, "--", *line)
        assert recorded.stdout == native.stdout
        said = [text for text in recorded.stderr.splitlines() if not text.startswith("rdb: rec")]
        assert said == native.stderr.splitlines()
        assert recorded.returncode == native.returncode
        job = open_job("job")
        verify(rdb, job)
        return job

    return run


def verify(rdb: Rdb, job: Job, hashes: int = 1) -> list[dict[str, Any]]:
    """Every program of every process agrees with its recording, to the last event."""
    done = rdb("replay", job.name, "--verify", "--json")
    results: list[dict[str, Any]] = json.loads(done.stdout)
    programs = {one.name: one for process in job.processes() for one in process.programs}
    assert [result["process"] for result in results] == list(programs)
    for result in results:
        assert result["ok"], result
        assert result["hashes"] >= hashes, result
        assert result["events"] == programs[result["process"]].last_event + 1
    assert done.returncode == 0
    return results


def tree(job: Job) -> dict[str, str]:
    """State by process."""
    return {process.name: process.state for process in job.processes()}


def commands(job: Job) -> dict[str, str]:
    """Name of what each program is, by its address."""
    return {
        one.name: Path(one.meta["exe"]).name
        for process in job.processes()
        for one in process.programs
    }


# ---- each way to start a process ----


def test_fork_spawn_vfork_system_popen(both: Both, build: Build) -> None:
    program = build("process_ways.c", "-O0")
    ways = ["spawn", "vfork", "system", "popen", "killed"]
    job = both(program, *ways, "/no/such", "/tmp", "/etc/passwd")
    assert tree(job) == {
        "0": "exited 5",
        "0.1": "exited 6",  # posix_spawn
        "0.2": "exited 127",  # of what is not there
        "0.3": "exited 8",  # vfork
        "0.4": "exited 7",  # of what is not there
        "0.5": "exited 3",  # system
        "0.6": "exited 4",  # popen
        "0.7": "killed",
    }
    shell = Path(os.path.realpath("/bin/sh")).name
    assert commands(job)["0.1:1"] == "process_ways"
    assert commands(job)["0.1"] == shell
    assert "0.2:1" not in commands(job)


def test_an_exec_that_fails_lets_the_program_go_on(
    both: Both, build: Build, build_text: Callable[..., Path], tmp_path: Path
) -> None:
    """Found out before anything of the program is given up, also of what the file asks for."""
    no_interpreter = tmp_path / "no-interpreter"
    no_interpreter.write_text("#!/no/such/interpreter\n")
    text = tmp_path / "text"
    text.write_text("echo neither\n")
    alien = tmp_path / "alien"
    binary = build("process_ways.c", "-O0").read_bytes()
    alien.write_bytes(binary[:18] + b"\xb7\x00" + binary[20:])
    loop = tmp_path / "loop"
    loop.write_text(f"#!{loop}\n")
    for path in (no_interpreter, text, alien, loop):
        path.chmod(0o755)
    source = "int main(void) { return 0; }"
    no_loader = build_text("no_loader", source, "-Wl,--dynamic-linker=/no/such/ld.so")
    failing = [no_interpreter, text, alien, loop, no_loader, tmp_path, "/no/such", ""]
    job = both(build("process_ways.c", "-O0"), *failing)
    assert tree(job) == {"0": "exited 5"}
    said = [record.result for record in job.rank(0).records() if record.nr == 59]
    assert [-result for result in said] == [2, 8, 8, 40, 2, 13, 2, 2]


def test_a_chain_of_programs_is_one_process(both: Both, rdb: Rdb, build: Build) -> None:
    """The pid, the environment, blocked, pending and ignored signals are kept over exec."""
    job = both(build("process_chain.c", "-O0"), "3")
    (process,) = job.processes()
    assert [one.name for one in process.programs] == ["0:1", "0:2", "0:3", "0"]
    program = process.programs[0].meta["exe"]
    assert [one.state for one in process.programs] == [*[f"became {program}"] * 3, "exited 9"]
    assert len({one.meta["pid"] for one in process.programs}) == 1
    assert job.rank(0).meta["argv"] == ["renamed", "0", str(job.rank(0).meta["pid"])]
    assert job.rank("0:4").path == job.rank(0).path
    assert job.rank("0:1").path == job.path / "rank-0"
    row = json.loads(rdb("info", "job", "--json").stdout)["ranks"][0]
    assert row["state"] == "exited 9"
    assert len(row["programs"]) == 4


def test_scripts(both: Both, tmp_path: Path, build: Build) -> None:
    """A script with an interpreter line, called by a link to it, that ends in exec."""
    script = tmp_path / "wrapper.sh"
    script.write_text('#!/bin/sh -e\necho "I am $0, $#: $1"\nX=1 exec "$@"\n')
    script.chmod(0o755)
    linked = tmp_path / "linked"
    linked.symlink_to(script)
    outer = tmp_path / "outer"
    outer.write_text(f"#!{linked}  one two  \n")
    outer.chmod(0o755)
    job = both(linked, "/usr/bin/env", build("process_chain.c", "-O0"), "0")
    assert list(commands(job)) == ["0:1", "0:2", "0"]
    assert commands(job)["0"] == "process_chain"
    shutil.rmtree(job.path)
    # The kernel gives all of an interpreter line's arguments as one.
    both("/bin/sh", "-c", f"{outer} three || echo $?")


def test_pipelines(both: Both) -> None:
    line = "seq 1 300 | grep 7 | sort -r | head -3; (exit 3); echo $?; cat <<X\nhere\nX"
    job = both("/bin/sh", "-c", line)
    assert {"seq", "grep", "sort", "head", "cat"} <= set(commands(job).values())
    assert "exited 3" in tree(job).values()


def test_background_jobs_of_a_shell(both: Both) -> None:
    both("/bin/sh", "-c", "(exit 4) & a=$!; true & wait $!; echo $?; wait $a; echo $?")


def test_signals_that_meet_a_new_process(rdb: Rdb, rdb_home: Path) -> None:
    """They may come before its own recording has begun, or between two of its programs; what the
    shell says of them on stderr depends on when they do, also without rdb."""
    kill = "sleep 9 & kill $!; wait $!; echo $?; "
    done = rdb("run", "--name", "job", "--hash-every", "1", "--", "/bin/sh", "-c", kill * 15)
    assert (done.returncode, done.stdout) == (0, "143\n" * 15), done.stderr
    job = open_job("job")
    verify(rdb, job, hashes=0)  # one that was killed before its first event was hashed has none
    assert sorted(set(tree(job).values())) == ["exited 0", "signal 15"]


def test_signals_of_faults_that_meet_a_new_process(rdb: Rdb, build: Build) -> None:
    signals = [str(int(number)) for number in FAULTS * 5]
    done = rdb("run", "--name", "job", "--", build("early_signals.c", "-O0"), *signals)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == signals


def test_a_program_killed_before_its_first_event_has_lost_nothing(rdb: Rdb) -> None:
    rdb("run", "--name", "job", "--", "/bin/sh", "-c", "true; /bin/echo a; exit 3")
    echo = open_job("job").path / "rank-0/child-1/exec"
    (echo / "ckpt-000000.img").unlink()
    log = echo / "log-000000.seg"
    os.truncate(log, SEGMENT_HEADER.size + 8)  # and its checksum
    done = rdb("replay", "job")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rank 0.1:2: 0 events, it ended before its first" in done.stdout


def test_a_low_limit_of_descriptors(both: Both) -> None:
    both("/bin/sh", "-c", "ulimit -n 40; (exit 3); echo $?; /bin/echo a | cat; exec /bin/true")


def test_python(both: Both) -> None:
    both(
        PYTHON,
        "-S",
        "-c",
        "import os, subprocess as s\n"
        "print(s.run(['echo', 'a'], capture_output=True).stdout)\n"
        "print(s.run('cat; exit 4', shell=True, input=b'x' * 100000, stdout=-3).returncode)\n"
        "try: s.run(['/no/such'])\n"
        "except FileNotFoundError as error: print(error)\n"
        "pid = os.fork()\n"
        "if not pid: os._exit(9)\n"
        "print(os.waitpid(pid, 0)[1] >> 8)\n",
        hash_every=50,
    )


def test_gcc(both: Both, tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text('#include <stdio.h>\nint main(void) { return puts("") < 0; }\n')
    job = both("/usr/bin/gcc", "-O1", "one.c", "-o", "one", hash_every=200)
    assert {"cc1", "as", "collect2"} <= {name.split("-")[-1] for name in commands(job).values()}
    assert subprocess.run([tmp_path / "one"], check=False, stdout=-3).returncode == 0


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_clone(both: Both, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path / "origin"), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(tmp_path / "origin")], check=True)
    (tmp_path / "origin" / "file").write_text("content\n")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    line = "rm -rf copy && git clone -q --no-hardlinks origin copy && cat copy/file"
    job = both("/bin/sh", "-c", line, hash_every=100)
    assert "git" in commands(job).values()
    assert set(tree(job).values()) == {"exited 0"}


def test_deep_and_many(both: Both) -> None:
    """Children of children; numbers go on where the process became another program."""
    line = "(true; (exit 1); true); exec /bin/sh -c '(exit 2); (exit 3); exit 0'"
    job = both("/bin/sh", "-c", line)
    assert tree(job) == {
        "0": "exited 0",
        "0.1": "exited 0",
        "0.1.1": "exited 1",
        "0.2": "exited 2",
        "0.3": "exited 3",
    }
    assert job.rank("0.2").path == job.path / "rank-0" / "exec" / "child-1"


# ---- the command line ----


def test_no_children(rdb: Rdb, build: Build) -> None:
    """Children run native; the process itself is still recorded, also over exec."""
    line = "echo one | cat; (exit 3); echo $?; exec /bin/echo end"
    done = rdb("run", "--no-children", "--name", "job", "--", "/bin/sh", "-c", line)
    assert (done.returncode, done.stdout) == (0, "one\n3\nend\n")
    job = open_job("job")
    assert tree(job) == {"0": "exited 0"}
    verify(rdb, job)
    done = rdb("exec", "--no-children", "--name", "other", "--", "/bin/sh", "-c", line)
    assert (done.returncode, done.stdout) == (0, "one\n3\nend\n")
    assert list(commands(open_job("other"))) == ["0:1", "0"]


def test_what_is_said_of_processes(rdb: Rdb) -> None:
    done = rdb("run", "--name", "job", "--", "/bin/sh", "-c", "(exit 3); exec /bin/true")
    assert (
        done.stderr == "rdb: recorded job job (1 rank, 2 processes, exit code 0); rdb attach job\n"
    )
    listed = rdb("ls").stdout.splitlines()[1].split("  ")
    assert "1 (2 processes)" in map(str.strip, listed)
    assert json.loads(rdb("ls", "--json").stdout)[0]["processes"] == 2
    true = os.path.realpath("/bin/true")
    rows = [line.split() for line in rdb("info", "job").stdout.splitlines()[6:]]
    assert [row[0] for row in rows] == ["0:1", "0", "0.1"]
    assert rows[0][1:3] == ["became", "/bin/true"]
    assert json.loads(rdb("info", "job", "--json").stdout)["processes"][0]["program"] == true
    one = rdb("replay", "job", "--rank", "0.1")
    assert one.returncode == 0
    assert one.stdout.startswith("rank 0.1: ")
    assert len(rdb("replay", "job", "--rank", "0").stdout.splitlines()) == 3
    assert len(rdb("replay", "job", "--rank", "0:1").stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("0.2", 4, "there is no process 0.2; children of 0: 0.1"),
        ("0.1.1", 4, "there is no process 0.1.1; children of 0.1: none"),
        ("0:3", 4, "process 0 has no program 3; it ran 2"),
        ("1", 4, "job has no rank 1; its ranks: 0"),
        ("0.", 2, "'0.' is not a rank or process"),
        ("x", 2, "'x' is not a rank or process"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "attach", "serve"])
def test_processes_that_are_not_there(
    rdb: Rdb, command: str, name: str, code: int, words: str
) -> None:
    assert rdb("run", "--name=job", "--", "/bin/sh", "-c", "(exit 3); exec true").returncode == 0
    done = rdb(command, "job", "--rank", name)
    assert done.returncode == code
    assert done.stderr.startswith(f"rdb: {words}")
    assert len(done.stderr.splitlines()) == 1


def test_a_damaged_child_is_found(rdb: Rdb) -> None:
    assert rdb("run", "--name", "job", "--", "/bin/sh", "-c", "(exit 3); exit 0").returncode == 0
    log = open_job("job").rank("0.1").path / "log-000000.seg"
    data = bytearray(log.read_bytes())
    data[300] ^= 1
    log.write_bytes(data)
    done = rdb("replay", "job")
    assert done.returncode == 5
    assert "child-1/log-000000.seg" in done.stderr
    assert rdb("info", "job").returncode == 5


def test_names() -> None:
    assert ProcessName.parse(3) == ProcessName(3)
    assert ProcessName.parse("0.1.12:2") == ProcessName(0, (1, 12), 2)
    for text in ("", "-1", "0.0", "0:0", "0..1", "0.1:", "a", "0 .1"):
        with pytest.raises(Usage):
            ProcessName.parse(text)


# ---- the debugger ----


def test_attach_and_bisect_land_in_the_last_program(rdb: Rdb, build: Build, tmp_path: Path) -> None:
    program = build("process_wait.c", "-O0")
    wrapper = tmp_path / "wrapper.sh"
    wrapper.write_text('#!/bin/sh\necho wrapped\nexec "$@"\n')
    wrapper.chmod(0o755)
    assert rdb("run", "--name=job", "--", wrapper, program, "/bin/true").returncode == 0
    script = tmp_path / "commands"
    script.write_text("goto START\nbreak main\ncontinue\ninfo inferiors\n")
    done = rdb("attach", "job", "-x", script)
    assert done.returncode == 0, done.stdout
    assert "process_wait.c" in done.stdout
    done = rdb("bisect", "job", "after < 2")
    assert done.returncode == 0, done.stderr
    assert "in rank 0\n" in done.stdout
    # The child, before it became another program, has the same variables.
    done = rdb("bisect", "job", "before < 3", "--rank", "0.1:1")
    assert done.returncode == 0, done.stderr
    assert "in rank 0.1:1\n" in done.stdout
    assert "process_wait.c" in done.stdout
    script.write_text("when\n")
    done = rdb("attach", "job", "--rank", "0:1", "-x", script)
    assert "job 0:1 [0] end> when" in done.stdout


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = "process_wait.c"
    folder = tmp_path_factory.mktemp("forked")
    shell = ("/bin/sh", "-c", "exit 5")
    return Recorded(folder, build(source, "-O0"), PROGRAMS / source, *shell)


def only_replicas(gdb: Gdb) -> None:
    """Nothing runs below GDB but the server and its replicas: no child of the program."""
    for process in descendants(gdb.pid):
        try:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
        except FileNotFoundError:
            continue
        # GDB starts the server through /bin/sh -c, which may stay as its parent.
        assert not line[0] or b" serve " in b" ".join(line) or b"--replay" in line, line


def test_row_20_going_back_past_the_fork(forked: Recorded) -> None:
    child, same, code = map(int, forked.done.stdout.split())
    assert (same, code) == (1, 5)
    job = Job(forked.home / "job")
    assert job.rank("0.1").meta["pid"] == child
    with forked.gdb() as gdb:
        for _ in range(2):
            go(gdb, forked, "print")
            assert gdb.integer("child") == child
            assert gdb.integer("gone") == child
            assert gdb.integer("status") == 5 << 8
            only_replicas(gdb)
            gdb.run("reverse-next")
            gdb.run("reverse-next")
            gdb.expect_at(forked.at("wait"))
            assert (gdb.integer("after"), gdb.integer("status")) == (1, 0)
            for _ in range(3):
                gdb.run("reverse-next")
            gdb.expect_at(forked.at("fork"))
            assert (gdb.integer("child"), gdb.integer("after")) == (0, 0)
            assert gdb.integer("before") == 2
            only_replicas(gdb)
            here = everything(gdb)
            gdb.run("next")
            assert gdb.integer("child") in (0, child)  # the statement may have two parts
            gdb.run("undo")
            assert everything(gdb) == here
        gdb.run("continue")
        assert gdb.state()["at_end"]
        gdb.run("reverse-continue")
        assert gdb.state()["at_start"]
        below = descendants(gdb.pid)
        assert below
        only_replicas(gdb)
    until = deadlines.Deadline(DEADLINE_S)
    while any(process.alive for process in below):
        assert not until.over(), "left behind"
        time.sleep(0.05)


def test_row_20_the_child_alone(forked: Recorded) -> None:
    """The child begins at its return from fork; its parent's past is not its own."""
    with forked.gdb(rank="0.1:1") as gdb:
        assert "rank 0.1:1" in gdb.opened
        assert gdb.integer("before") == 2
        gdb.run(f"tbreak {forked.at('child')}")
        gdb.run("continue")
        gdb.expect_at(forked.at("child"))
        assert gdb.integer("child") == 0
        gdb.run("next")
        assert gdb.integer("before") == 3
        gdb.run("continue")
        assert gdb.state()["at_end"]
        gdb.run("reverse-continue")
        assert gdb.integer("before") == 2
        assert not moved(gdb.run("reverse-stepi"))
    with forked.gdb(rank="0.1") as gdb:
        assert "exited 5" in gdb.opened
        assert "exits with code 5" in gdb.run("continue")


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
@pytest.mark.parametrize("line", ["exec {}", "{}; exit $?"])
def test_ranks_behind_wrappers(rdb: Rdb, build: Build, rdb_home: Path, line: str) -> None:
    """A rank is its MPI program, whether the wrapper became it or waits for it."""
    program = build("mpi/ring.c")
    rdb_exec = [sys.executable, "-m", "rdb", "exec", "--name", "job", "--"]
    done = deadlines.run(
        ["mpirun", "--oversubscribe", "-n", "2", *rdb_exec, "sh", "-c", line.format(program)],
        TIMEOUT_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    job = open_job("job")
    assert job.ranks == [0, 1]
    for rank in job.ranks:
        assert job.rank(rank).meta["exe"] == os.path.realpath(program)
        kinds = {record.kind for record in job.rank(rank).records()}
        assert Kind.HYPERCALL in kinds
    assert Path(job.rank("0:1").meta["exe"]).name == Path(os.path.realpath("/bin/sh")).name
    verify(rdb, job)
    script = rdb_home / "commands"
    script.write_text("focus 1\ngoto START\nbreak main\ncontinue\n")
    attached = rdb("attach", "job", "-x", script)
    assert "ring.c" in attached.stdout, attached.stdout
    with pytest.raises(UnknownJob):
        job.rank("0:9")


def programs_of(job: Job) -> list[dict[str, Any]]:
    """What the log says of each program that ran."""
    return [one.meta for process in job.processes() for one in process.programs]


def test_each_way_to_name_a_program(both: Both, build: Build) -> None:
    """execve(2), execveat(2): paths, descriptors, scripts, files without a name; each refusal."""
    job = both(build("exec_ways.c", "-w"), hash_every=None)
    names = [Path(meta["exe"]).name for meta in programs_of(job)]
    assert (names.count("memfd:memory (deleted)"), names.count("lost (deleted)")) == (2, 1)


def test_arguments_of_any_length(both: Both) -> None:
    job = both("/bin/sh", "-c", "/bin/echo $(seq 60000) | cksum")
    assert max(len(meta["argv"]) for meta in programs_of(job)) == 60_001


@pytest.mark.parametrize("mode", ["full", "off"])
def test_the_file_of_a_running_program_is_not_written(
    tmp_path: Path, build: Build, rdb: Rdb, mode: str
) -> None:
    """ETXTBSY, as natively; what has its name later is another file."""
    built, program = build("busy_text.c", "-O1"), tmp_path / "program"
    shutil.copy(built, program)
    native = deadlines.native([program])
    assert program.read_text() == ""
    program.unlink()
    shutil.copy(built, program)
    done = rdb("run", "--name", "job", f"--record={mode}", "--", program)
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    if mode == "full":
        replayed = rdb("replay", "job", "--verify")
        assert replayed.returncode == 0, replayed.stderr


def test_others_see_its_own_arguments(both: Both) -> None:
    """As ps(1) does: also the title that a program has written over them."""
    looks = "system(qq(tr '\\\\0' ' ' < /proc/$$/cmdline; grep -c MARKED=yes /proc/$$/environ));"
    both("env", "MARKED=yes", "perl", "-e", f"$| = 1; {looks} $0 = 'a title'; {looks}")
