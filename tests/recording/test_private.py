"""Recordings are their owner's alone: modes of all files, and whose recordings rdb opens."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Rdb

from rdb.errors import NotYours
from rdb.recording import list_jobs, open_job

BuildText = Callable[..., Path]

# Makes files, children and programs of all kinds under a umask of its own.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static char data[3 << 20];
int main(int argc, char **argv)
{
	umask((mode_t)strtol(argv[1], NULL, 8));
	unsigned long context = 0;
	if (!syscall(SYS_io_setup, 1, &context)) /* that it cannot be recorded is said in a file */
		return 6;
	if (fork() == 0) {
		if (argc > 2)
			return 0;
		execl(argv[0], argv[0], argv[1], "again", (char *)NULL);
		return 9;
	}
	int ends[2], status;
	if (pipe(ends))
		return 8;
	for (unsigned i = 0; i < sizeof(data) / 4096; i++) /* more than the first segment holds */
		if (write(ends[1], data, 4096) != 4096 || read(ends[0], data, 4096) != 4096)
			return 7;
	wait(&status);
	return WEXITSTATUS(status);
}
"""


def modes(folder: Path) -> dict[str, str]:
    """Mode of each entry that is not 0700 (directory) or 0600 (file)."""
    wrong = {}
    entries = [folder, *folder.rglob("*")]
    assert len(entries) > 10
    for entry in entries:
        meant = 0o700 if entry.is_dir() else 0o600
        mode = stat.S_IMODE(entry.stat().st_mode)
        if mode != meant:
            wrong[str(entry.relative_to(folder))] = oct(mode)
    return wrong


@pytest.mark.parametrize("umask", ["000", "022", "277", "777"])
def test_all_files_are_private_whatever_the_umask(
    rdb: Rdb, build_text: BuildText, rdb_home: Path, umask: str
) -> None:
    program = build_text("masked", PROGRAM)
    before = os.umask(0)  # what rdb itself is started with
    try:
        done = rdb("run", "--", program, umask)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    assert modes(rdb_home) == {}
    assert len(list(rdb_home.rglob("child-1/exec/log-*.seg"))) >= 1
    assert len(list(rdb_home.rglob("cautions"))) > 1
    assert len(list(rdb_home.rglob("rank-0/log-*.seg"))) > 1
    replayed = rdb("replay", "masked-1")
    assert replayed.returncode == 0, replayed.stderr


def test_claims_of_launches_are_private(rdb: Rdb, rdb_home: Path) -> None:
    before = os.umask(0)
    try:
        env = {**os.environ, "OMPI_COMM_WORLD_RANK": "0", "PMIX_NAMESPACE": "x"}
        done = rdb("exec", "--", "/bin/true", env=env)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    assert list((rdb_home / ".launches").iterdir())
    assert modes(rdb_home) == {}


@pytest.fixture
def job(rdb: Rdb, rdb_home: Path) -> Path:
    assert rdb("run", "--name", "mine", "--", "/bin/true").returncode == 0
    return rdb_home / "mine"


COMMANDS = (
    ("info", "mine"),
    ("replay", "mine"),
    ("attach", "mine"),
    ("bisect", "mine", "1"),
    ("serve", "mine", "--stdio"),
    ("rm", "mine"),
)


def refused(rdb: Rdb, says: str) -> None:
    """Every command says so in one line; `ls` has it as the job's state."""
    for command in COMMANDS:
        done = rdb(*command)
        assert done.returncode == 4, (command, done.stderr)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("rdb: ") and says in line, line
    listed = rdb("ls")
    assert listed.returncode == 0
    assert "mine" in listed.stdout and says in listed.stdout


def test_what_others_could_have_changed_is_refused(rdb: Rdb, job: Path) -> None:
    for mode in (0o720, 0o702, 0o777):
        job.chmod(mode)
        refused(rdb, "others may have changed it")
    job.chmod(0o755)  # readable is the user's own decision
    assert rdb("replay", "mine").returncode == 0


def test_a_store_that_others_write_to_is_refused(rdb: Rdb, rdb_home: Path, job: Path) -> None:
    rdb_home.chmod(0o777)
    commands = {("ls",): 4, ("info", "mine"): 4, ("run", "--", "/bin/true"): 125}
    for command, code in commands.items():
        done = rdb(*command)
        assert done.returncode == code
        assert f"chmod go-w {rdb_home}" in done.stderr
    rdb_home.chmod(0o1777)  # as /tmp: what is in it is still its owner's
    assert rdb("replay", "mine").returncode == 0
    rdb_home.chmod(0o755)
    assert rdb("replay", "mine").returncode == 0


def test_another_users_recording_is_refused(
    rdb: Rdb, job: Path, rdb_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: job.stat().st_uid + 4711)
    with pytest.raises(NotYours, match="belongs to "):
        open_job(job)
    with pytest.raises(NotYours, match="belongs to "):
        list_jobs()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_too_is_refused_but_sudo_opens_the_callers_own(
    rdb: Rdb, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    os.chown(job, 4711, -1)
    refused(rdb, "belongs to 4711")
    assert "; sudo -u 4711 rdb" in rdb("info", "mine").stderr
    monkeypatch.setenv("SUDO_UID", "4711")
    assert rdb("replay", "mine").returncode == 0
    monkeypatch.setenv("SUDO_UID", "4712")
    assert rdb("replay", "mine").returncode == 4


AS_ANOTHER_USER = (
    "import importlib, os, pkgutil, sys, rdb\n"
    "for one in pkgutil.walk_packages(rdb.__path__, 'rdb.'):  # while it may read them\n"
    "    if not one.name.endswith(('__main__', '.dask')): importlib.import_module(one.name)\n"
    "os.setgroups([]); os.setgid(4711); os.setuid(4711)\n"
    "from rdb.cli import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_as_a_user_who_may_not_look_into_it(job: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chmod(home, 0o755)
        shutil.copytree(job, Path(home) / "mine")
        for command in (("info", "mine"), ("ls",), ("rm", "mine")):
            done = subprocess.run(
                [sys.executable, "-c", AS_ANOTHER_USER, *command],
                env={**os.environ, "RDB_HOME": home},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 4, done.stderr
            (line,) = done.stderr.splitlines()
            assert f"{home}" in line and "belongs to root" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_user_without_a_home_directory(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "LC_ALL")}
    for command in (("run", "/bin/true"), ("ls",)):
        done = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER_USER, *command],
            env=env,
            capture_output=True,
            text=True,
            cwd="/",
        )
        (line,) = done.stderr.splitlines()
        assert (done.returncode, line) == (
            125,
            "rdb: there is no place for recordings: this user has no home directory; "
            "set RDB_HOME to a directory of your own",
        )


def test_a_damaged_job_can_be_removed(rdb: Rdb, rdb_home: Path, job: Path) -> None:
    """Of whatever kind the damage is; what was never a job is left alone."""
    segment = job / "rank-0" / "log-000000.seg"
    segment.write_bytes(segment.read_bytes()[:100])
    assert rdb("run", "--name", "torn", "--", "/bin/true").returncode == 0
    (rdb_home / "torn" / "job.json").write_text('{"format"')
    assert rdb("run", "--name", "foreign", "--", "/bin/true").returncode == 0
    (rdb_home / "foreign" / "job.json").write_text('{"format": 99}')
    assert rdb("run", "--name", "no-log", "--", "/bin/true").returncode == 0
    (rdb_home / "no-log" / "rank-0" / "log-000000.seg").unlink()
    (rdb_home / "no-log" / "rank-1").write_text("not a directory")
    (rdb_home / "torso" / "files").mkdir(parents=True)
    (rdb_home / "torso" / ".job.json").touch()
    (rdb_home / "theirs").mkdir()
    (rdb_home / "theirs" / "data").touch()
    assert rdb("ls").returncode == 0
    for name in ("mine", "torn", "no-log", "torso"):
        done = rdb("rm", name)
        assert done.returncode == 0, done.stderr
    for name in ("theirs", "..", ".", "", ".launches"):
        assert rdb("rm", name).returncode == 4
    assert rdb("rm", "foreign").returncode == 3  # not damaged: another rdb reads it
    assert sorted(entry.name for entry in rdb_home.iterdir()) == ["foreign", "theirs"]
