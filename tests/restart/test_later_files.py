"""rdb restart and ordinary files that the recorded job wrote to only after the cut."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path

from conftest import Rdb
from events import events_called

from rdb.live.files.later_files import LaterFiles, write_later
from rdb.recording import open_job

BuildText = Callable[..., Path]

# A log that is opened again for each line, a file made at the end, one that is written over.
SOURCE = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char all[256] = "";
	int over = open("over", O_RDONLY);
	pread(over, all, 1, 0);
	close(over);
	for (int round = 0; round < 6; round++) {
		FILE *log = fopen("log", "a");
		fprintf(log, "round %d\\n", round);
		fclose(log);
		getppid();
	}
	int made = open("made", O_CREAT | O_EXCL | O_WRONLY, 0666);
	over = open("over", O_RDWR);
	if (made < 0 || pwrite(over, "x", 1, 0) != 1 || write(made, "made", 4) != 4)
		return 1;
	FILE *log = fopen("log", "r");
	fread(all, 1, 255, log);
	printf("%s", all);
	return 0;
}
"""
LOG = "earlier\n" + "".join(f"round {round_}\n" for round_ in range(6))


def test_the_branch_does_not_find_them(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path
) -> None:
    (tmp_path / "log").write_text("earlier\n")
    (tmp_path / "over").write_text("over")
    told = rdb("run", "--name", "told", "--", build_text("later", SOURCE))
    assert (told.returncode, told.stdout) == (0, LOG)

    first = _restart(rdb, "told", 2, "first")
    assert "wrote to it after the cut" not in first
    assert all(f"{one} went on as " in first for one in ("log", "made", "over"))
    _restart(rdb, "first", 1, "second")
    for name in ("first", "second"):
        copies = (rdb_home / name / "later").iterdir()
        assert {one.name.split("-", 1)[1]: one.read_text() for one in copies} == {
            "log": LOG,
            "made": "made",
            "over": "xver",
        }
    assert (tmp_path / "log").read_text() == LOG
    assert (tmp_path / "made").read_text() == "made"
    last = open_job("told").rank(0).last_event
    assert f"{tmp_path}/log" not in rdb("restart", "told", "--plan", "--at", str(last)).stdout


# Ranks take turns at one log, which each opens, appends to and closes.
SHARED = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < 6; round++) {
		if (round % 2 == rank) {
			FILE *log = fopen("shared", "a");
			fprintf(log, "round %d\\n", round);
			fclose(log);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		getppid(); /* nobody has the file open */
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
"""


def test_no_rank_keeps_what_it_had_left_in_a_file_of_several(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path
) -> None:
    whole = "".join(f"round {round_}\n" for round_ in range(6))
    program = build_text("turns", SHARED, compiler="mpicc")
    told = rdb("run", "-n", "2", "--name", "turns", "--", program)
    assert (told.returncode, (tmp_path / "shared").read_text()) == (0, whole), told.stderr
    cut = _calls_of_getppid("turns")[2]
    done = rdb("restart", "turns", "--rank", "0", "--at", str(cut), "--name", "branch")
    assert done.returncode == 0, done.stderr
    assert "several ranks" not in done.stderr
    (copy,) = (rdb_home / "branch" / "later").iterdir()
    assert not list((rdb_home / "branch").glob("rank-*/*shared"))
    assert (copy.read_text(), (tmp_path / "shared").read_text()) == (whole, whole)


def _calls_of_getppid(job: str) -> list[int]:
    return events_called(open_job(job).rank(0), "getppid")


def _restart(rdb: Rdb, job: str, which: int, name: str) -> str:
    """At that call of getppid; what rdb said."""
    done = rdb("restart", job, "--at", str(_calls_of_getppid(job)[which]), "--name", name)
    assert (done.returncode, done.stdout) == (0, LOG), done.stderr
    return str(done.stderr)


def test_a_copy_for_which_there_is_no_room(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path
) -> None:
    """The restart is refused, in words, and leaves nothing."""
    (tmp_path / "log").write_text("earlier\n")
    (tmp_path / "over").write_text("over" * (1 << 18))
    assert rdb("run", "--name", "told", "--", build_text("later", SOURCE)).returncode == 0
    (at, *_) = events_called(open_job("told").rank(0), "getppid")
    room = (1 << 19, 1 << 19)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)

    done = rdb("restart", "told", "--at", str(at), "--name", "branch", preexec_fn=limit)
    assert done.returncode == 125, done.stderr
    assert f"cannot write {rdb_home / 'branch'}" in done.stderr
    assert not (rdb_home / "branch").exists()


def test_a_directory_with_a_fifo_and_a_socket_in_it(tmp_path: Path) -> None:
    folder, branch = tmp_path / "folder", tmp_path / "branch"
    folder.mkdir()
    branch.mkdir()
    (folder / "file").write_text("file")
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket"))
    (place,) = write_later(LaterFiles(folders={"/was": str(folder)}), str(branch), {}).values()
    assert (place / "file").read_text() == "file"
    assert (place / "fifo").is_fifo()
    assert not (place / "socket").exists()


BESIDE = """
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "a");
	fputs(text, file);
	fclose(file);
}
static int shown(const struct dirent *one)
{
	return *one->d_name != '.';
}
static void show(void)
{
	char text[64];
	struct dirent **names;
	int n = scandir(".", &names, shown, alphasort);
	for (int i = 0; i < n; i++) {
		int fd = open(names[i]->d_name, O_RDONLY);
		ssize_t len = read(fd, text, sizeof(text) - 1);
		text[len < 0 ? 0 : len] = 0;
		close(fd);
		printf("%s: %s;", names[i]->d_name, text);
	}
	puts("");
}
int main(void)
{
	char text[64];
	put("old", "old");
	put("gone", "gone");
	getppid();
	if (access("../go", F_OK))
		return 0;
	show();
	put("old", " and more");
	put("new", "new");
	put("tmp", "instead");
	rename("tmp", "by-name");
	unlink("gone");
	mkdir("made", 0700);
	put("made/inner", "inner");
	rename("made", "moved");
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	if (write(fd, "x", 1) != 1 || linkat(AT_FDCWD, text, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW))
		return 1;
	close(fd);
	show();
	return 0;
}
"""


def test_what_other_branches_have_changed_is_undone(
    rdb: Rdb, build_text: BuildText, tmp_path: Path
) -> None:
    """All branches begin where the job had closed its files, which it does not change later."""
    program = build_text("beside", BESIDE)
    work = tmp_path / "work"
    work.mkdir()
    assert rdb("run", "--name", "told", "--", program, cwd=work).returncode == 0
    (at,) = events_called(open_job("told").rank(0), "getppid")
    (tmp_path / "go").touch()
    said = []
    for name in ("first", "second", "third"):
        done = rdb("restart", "told", "--at", str(at), "--name", name, cwd=work)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        verified = rdb("replay", name, "--verify")
        assert verified.returncode == 0, verified.stderr
    assert said[0].startswith("gone: gone;old: old;\n") and "deleted" not in said[0]
    assert said == [said[0]] * 3
