"""rdb restart and modes, times, links and extended attributes of files that the recorded job
changed only later: the branch finds those of the cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Rdb
from events import events_called

from rdb.recording import open_job

BuildText = Callable[..., Path]

HEAD = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
static char seen[4096];
static void look(const char *name)
{
	struct stat st;
	char value[32] = "-";
	if (stat(name, &st)) {
		sprintf(seen + strlen(seen), "%s: %d\\n", name, errno);
		return;
	}
	ssize_t n = getxattr(name, "user.rdb", value, sizeof(value) - 1);
	value[n < 0 ? 1 : n] = 0;
	sprintf(seen + strlen(seen), "%s: %o %d:%d %lu of %ld, %ld.%09ld %s\\n", name, st.st_mode,
		st.st_uid, st.st_gid, (unsigned long)st.st_nlink, (long)st.st_size,
		(long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, value);
}
static void put(const char *name, const char *text, int flags)
{
	int fd = open(name, O_WRONLY | O_CREAT | flags, 0640);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		abort();
}
"""

# Each of these files is looked at before the cut, and changed in another way after it.
CHANGED = (
    HEAD
    + """
static const char *const names[] = {
	"mode", "times", "linked", "names", "other", "xattr", "had", "appended", "cut",
	"seconds", "gone", "replaced", "both"};
static void all(void)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		look(names[i]);
}
int main(void)
{
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 3}};
	const struct timeval old[2] = {{.tv_sec = 11}, {.tv_sec = 12, .tv_usec = 13}};
	struct utimbuf older = {.actime = 21, .modtime = 22};
	all();
	getppid(); /* the cut */
	getppid(); /* a branch's */
	memset(seen, 0, sizeof(seen));
	all();
	if (chown("mode", 1, 2) && errno != EPERM)
		return 1;
	chmod("mode", 0755);
	int fd = open("mode", O_RDONLY);
	fchmod(fd, 0700);
	close(fd);
	utimensat(AT_FDCWD, "times", times, 0);
	utimes("seconds", old);
	utime("seconds", &older);
	link("linked", "more");
	unlink("names");
	setxattr("xattr", "user.rdb", "new", 3, 0);
	setxattr("had", "user.rdb", "changed", 7, 0);
	removexattr("had", "user.rdb");
	put("appended", "more", O_APPEND);
	put("cut", "else", O_TRUNC);
	unlink("gone");
	put("fresh", "text", O_EXCL);
	chmod("fresh", 0604);
	rename("fresh", "replaced");
	chmod("both", 0);
	truncate("both", 1);
	printf("%s", seen);
	return 0;
}
"""
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for number, name in enumerate(
        (
            *("mode", "times", "linked", "names", "xattr", "had", "appended", "cut"),
            *("seconds", "gone", "replaced", "both"),
        )
    ):
        path = tmp_path / name
        path.write_text(f"what is in {name}\n")
        path.chmod(0o600 + number)
        os.utime(path, ns=(5_000_000_000, (100 + number) * 1_000_000_000 + 7))
    os.setxattr(tmp_path / "had", "user.rdb", b"old")
    os.link(tmp_path / "names", tmp_path / "other")
    return tmp_path


def test_what_was_changed_later_is_as_it_was(
    rdb: Rdb, build_text: BuildText, files: Path, rdb_home: Path
) -> None:
    program = build_text("changed", CHANGED)
    told = rdb("run", "--name", "told", "--", program)
    assert told.returncode == 0, told.stderr
    assert told.stdout.count("\n") == 13
    after = _stats(files)

    first = rdb("restart", "told", "--at", _cut("told"), "--name", "first")
    assert (first.returncode, first.stdout) == (0, told.stdout), first.stderr
    second = rdb("restart", "first", "--at", _cut("first"), "--name", "second")
    assert (second.returncode, second.stdout) == (0, told.stdout), second.stderr
    third = rdb("restart", "told", "--at", "0", "--name", "third")
    assert (third.returncode, third.stdout) == (0, told.stdout), third.stderr
    assert _stats(files) == after


def _stats(folder: Path) -> dict[str, tuple[int, int, int, int]]:
    return {
        one.name: (found.st_mode, found.st_nlink, found.st_size, found.st_mtime_ns)
        for one in folder.iterdir()
        if one.is_file()
        for found in [one.stat()]
    }


# What it has made and changed itself by the cut, closed and open, is changed again after it.
OWN = (
    HEAD
    + """
int main(int argc, char **argv)
{
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 3}};
	umask(022);
	put("closed", "left", O_EXCL);
	chmod("closed", 0400);
	utimensat(AT_FDCWD, "closed", times, 0);
	setxattr("closed", "user.rdb", "mine", 4, 0);
	int open_still = open("open", O_RDWR | O_CREAT | O_EXCL, 0666);
	if (open_still < 0 || write(open_still, "text", 4) != 4 || fchmod(open_still, 0604))
		return 1;
	put("written", "so", O_EXCL);
	getppid(); /* the cut */
	getppid(); /* a branch's */
	look("closed");
	look("open");
	struct stat st;
	stat("written", &st);
	sprintf(seen + strlen(seen), "%o\\n", st.st_mode);
	if (fchmod(open_still, 0666) || write(open_still, "more", 4) != 4)
		return 2;
	chmod("closed", 0600);
	put("closed", "else", O_TRUNC);
	unlink("written");
	FILE *out = fopen(argv[1], "w");
	fputs(seen, out);
	fclose(out);
	for (char *line = strtok(seen, "\\n"); line; line = strtok(NULL, "\\n"))
		puts(strchr(line, '.') ? "times" : line); /* of a write: when it was, by the log */
	return 0;
}
"""
)


def test_its_own_files_have_what_it_gave_them(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, rdb_home: Path
) -> None:
    program = build_text("own", OWN)
    told = rdb("run", "--name", "told", "--", program, str(tmp_path / "seen"))
    assert told.returncode == 0, told.stderr
    recorded = (tmp_path / "seen").read_text()
    rank = open_job("told").rank(0)
    _, written, *_ = events_called(rank, "write(")
    for job, name in (("told", "first"), ("first", "second")):
        done = rdb("restart", job, "--at", _cut(job), "--name", name)
        assert (done.returncode, done.stdout) == (0, told.stdout), done.stderr
        (seen,) = (rdb_home / name / "later").glob("*-seen")
        by_log_s = rank.event(written).at_ns / 1e9
        assert _written_s(seen.read_text()) == pytest.approx(by_log_s, rel=0, abs=1e-6)
    closed, opened, _ = recorded.splitlines()
    assert closed.startswith("closed: 100400") and closed.endswith("2000.000000003 mine")
    assert opened.startswith("open: 100604")


def _written_s(seen: str) -> float:
    """When the file was written that was open at the cut."""
    return float(seen.splitlines()[1].split(", ")[1].split()[0])


def _cut(job: str) -> str:
    return str(events_called(open_job(job).rank(0), "getppid")[0])


# Of a file with several names each, also one that was unlinked later, has as many.
LINKS = (
    HEAD
    + """
int main(void)
{
	struct stat a, b;
	put("a", "one", O_EXCL);
	if (link("a", "b") || link("a", "c"))
		return 1;
	getppid(); /* the cut */
	getppid(); /* a branch's */
	if (stat("a", &a) || stat("b", &b))
		return 2;
	printf("%d %d %lu\\n", a.st_ino == b.st_ino, b.st_mode, (unsigned long)b.st_nlink);
	unlink("b");
	put("a", "else", O_TRUNC);
	return 0;
}
"""
)


def test_names_of_one_file_are_one_again(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> None:
    told = rdb("run", "--name", "told", "--", build_text("links", LINKS))
    assert (told.returncode, told.stdout) == (0, "1 33184 3\n"), told.stderr
    done = rdb("restart", "told", "--at", _cut("told"), "--name", "first")
    assert (done.returncode, done.stdout) == (0, told.stdout), done.stderr


# A directory stays where it is.
FOLDER = (
    HEAD
    + """
int main(void)
{
	mkdir("folder", 0755);
	getppid();
	chmod("folder", 0700);
	return 0;
}
"""
)


def test_directories_are_said(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> None:
    assert rdb("run", "--name", "told", "--", build_text("folds", FOLDER)).returncode == 0
    done = rdb("restart", "told", "--at", _cut("told"), "--name", "first")
    assert "folder: the directory's mode, owner or extended attributes" in done.stderr


# A lock file that is gone has no name, however its content is kept.
GONE = (
    HEAD
    + """
#include <sys/wait.h>
int main(void)
{
	struct stat st;
	int fd = open("lock", O_RDWR);
	if (!fork())
		_exit(unlink("lock") != 0);
	wait(NULL);
	fstat(fd, &st);
	printf("%lu\\n", (unsigned long)st.st_nlink);
	return 0;
}
"""
)


def test_a_file_that_is_kept_has_no_name_more(
    rdb: Rdb, build_text: BuildText, tmp_path: Path
) -> None:
    (tmp_path / "lock").write_text("1234\n")
    program = build_text("gone", GONE)
    told = rdb("run", "--name", "told", "--", program)
    assert (told.returncode, told.stdout) == (0, "0\n"), told.stderr
    (tmp_path / "lock").write_text("1234\n")
    assert deadlines.native([program], check=False, cwd=tmp_path).stdout == "0\n"
