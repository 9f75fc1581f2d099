"""rdb restart and files that the recorded job overwrote, renamed or removed after the cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Rdb, run_rdb
from events import events_called

from rdb.recording import open_job

BuildText = Callable[..., Path]
CUTS = 8

# Each round says what it finds, and writes over some of it.
SOURCE = """
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const char *const names[] = {"over", "cut", "mapped", "made", "log", "old", "new"};
static void show(void)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char text[64] = "";
		int fd = open(names[i], O_RDONLY);
		if (fd >= 0)
			read(fd, text, sizeof(text) - 1);
		dprintf(1, "%s%s %s\\n", names[i], fd < 0 ? " is not there" : ":", text);
		close(fd);
	}
}
static void put(const char *name, int flags, const char *text, int at)
{
	int fd = open(name, flags, 0666);
	pwrite(fd, text, strlen(text), at);
	close(fd);
}
int main(void)
{
	char text[8];
	for (int round = 0; round < 5; round++) {
		show();
		sprintf(text, "[%d]", round);
		put("over", O_RDWR, text, 3 * round);
		put("cut", O_WRONLY | O_TRUNC, text, 0);
		put("made", O_WRONLY | O_CREAT, text, 0);
		put("log", O_WRONLY | O_APPEND, text, 0);
		int fd = open("mapped", O_RDWR);
		char *there = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		memcpy(there + 3 * round, text, 3);
		munmap(there, 4096);
		if (round == 1)
			truncate("log", 3);
		if (round == 2)
			rename("old", "new");
		if (round == 3)
			unlink("new");
	}
	show();
	return 0;
}
"""
BEFORE = {
    "over": "what was there before it began",
    "cut": "and here",
    "mapped": "what is mapped, and stored to",
    "log": "earlier ",
    "old": "an old one",
}


def _restarted_anywhere(home: Path, folder: Path, program: Path, start: int) -> None:
    """Each branch says what the recorded program had still to say."""
    for name, text in BEFORE.items():
        (folder / name).write_text(text)
    told = run_rdb(home, folder, "run", "--name", "told", "--", str(program))
    assert told.returncode == 0, told.stderr
    events = random.Random(start).sample(range(open_job(home / "told").rank(0).last_event), CUTS)
    left = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
    for number, event in enumerate(events):
        done = run_rdb(
            home, folder, "restart", "told", "--at", str(event), "--name", f"branch{number}"
        )
        assert done.returncode == 0, (event, done.stderr)
        assert done.stdout and told.stdout.endswith(done.stdout), (event, done.stdout)
        assert "not known" not in done.stderr, event
    assert left == {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


@pytest.mark.parametrize("start", [1, 2])
def test_a_branch_finds_what_was_there(
    rdb_home: Path, build_text: BuildText, tmp_path: Path, start: int
) -> None:
    _restarted_anywhere(rdb_home, tmp_path, build_text("overwrites", SOURCE), start)


def test_what_cannot_be_kept_is_named(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> None:
    for name, text in BEFORE.items():
        (tmp_path / name).write_text(text)
    program = build_text("overwrites", SOURCE)
    told = rdb("run", "--name", "told", "--keep", "100MB", "--", program)
    assert told.returncode == 0, told.stderr
    done = rdb("restart", "told", "--plan", "--at", "1")
    assert f"{tmp_path}/over: rank 0 wrote to it after the cut (event " in done.stderr
    assert not list((tmp_path / "home").rglob("kept-*"))


def test_a_file_written_once_or_left_by_itself_is_not_copied(
    rdb: Rdb, build_text: BuildText, rdb_home: Path
) -> None:
    program = build_text(
        "again",
        """
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	for (int round = 0; round < 4; round++) {
		FILE *file = fopen("state", "w");
		fprintf(file, "round %d", round);
		fclose(file);
		rename("state", "saved");
		getppid();
	}
	return 0;
}
""",
    )
    assert rdb("run", "--name", "again", "--", program).returncode == 0
    assert not list((rdb_home / "again").rglob("kept-*"))


# A shell and programs that it starts, which find each other's files, also by listing directories.
SCRIPT = """
for i in 0 1 2; do
	echo "round $i" > now
	cat now >> all
	(echo "view $i"; cat all) > view
	mv view shown.$i
	[ -f gone ] && rm gone
	mkdir made.$i
	echo "in $i" > made.$i/file
	[ -d old ] && mv old renamed.$i
	[ -d empty ] && rmdir empty
	cat now all shown.* made.*/file renamed.*/file
done
sed -i s/round/ROUND/ all
cat all
echo *
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", [1, 2])
def test_programs_of_a_branch_find_its_files(rdb_home: Path, tmp_path: Path, start: int) -> None:
    (tmp_path / "script").write_text(SCRIPT)
    (tmp_path / "gone").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("in old\n")
    told = run_rdb(rdb_home, tmp_path, "run", "--name", "told", "--", "sh", "script")
    assert told.returncode == 0, told.stderr
    last, compared = open_job(rdb_home / "told").rank(0).last_event, 0
    for number, event in enumerate(random.Random(start).sample(range(last), CUTS)):
        done = run_rdb(
            rdb_home, tmp_path, "restart", "told", "--at", str(event), "--name", f"branch{number}"
        )
        if any(said in done.stderr for said in ("the branch's copy lacks", "choose another event")):
            continue
        compared += 1
        assert done.returncode == 0, (event, done.stderr)
        assert told.stdout.endswith(done.stdout), (event, done.stdout, done.stderr)
    assert compared > CUTS // 2


@pytest.mark.slow
def test_a_branch_may_have_any_number_of_files(rdb: Rdb, build_text: BuildText) -> None:
    program = build_text(
        "many",
        """
#include <stdio.h>
#include <unistd.h>
enum { MANY = 1500 };
static void put(int number, int value)
{
	char name[16];
	sprintf(name, "n.%d", number);
	FILE *file = fopen(name, "w");
	fprintf(file, "%d", value);
	fclose(file);
}
int main(void)
{
	int sum = 0;
	for (int number = 0; number < MANY; number++)
		put(number, 1);
	getppid();
	for (int number = 0; number < MANY; number++) {
		char name[16];
		int value = 0;
		sprintf(name, "n.%d", number);
		FILE *file = fopen(name, "r");
		fscanf(file, "%d", &value);
		fclose(file);
		sum += value;
	}
	for (int number = 0; number < MANY; number++)
		put(number, 2);
	printf("%d\\n", sum);
	return 0;
}
""",
    )
    assert rdb("run", "--name", "many", "--", program).stdout == "1500\n"
    (event,) = events_called(open_job("many").rank(0), "getppid")
    done = rdb("restart", "many", "--at", str(event), "--name", "branch")
    assert (done.returncode, done.stdout) == (0, "1500\n"), done.stderr


EXCHANGES = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void show(const char *name)
{
	char text[8] = "";
	int fd = open(name, O_RDONLY);
	read(fd, text, 7);
	close(fd);
	printf("%s %s\\n", name, text);
}
static void put(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	write(fd, name, 4);
}
static int moved(const char *from, const char *to, int flags)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) ? errno : 0;
}
int main(void)
{
	put("mine");
	put("ours");
	getppid();
	getppid();
	printf("%d", moved("mine", "real", RENAME_NOREPLACE));
	printf(" %d\\n", moved("real", "mine", RENAME_NOREPLACE));
	int done = moved("mine", "real", RENAME_EXCHANGE); /* EINVAL: as a file system may */
	if (done && done != EINVAL)
		printf("exchange: %d\\n", done);
	if (!done && moved("real", "mine", RENAME_EXCHANGE))
		printf("not back\\n");
	printf("%d\\n", moved("ours", "mine", RENAME_EXCHANGE));
	printf("%d\\n", moved("mine", "none", RENAME_NOREPLACE));
	show("none");
	show("ours");
	show("real");
	return 0;
}
"""


def test_names_that_are_exchanged_or_not_replaced(
    tmp_path: Path, rdb: Rdb, build_text: BuildText
) -> None:
    program = build_text("exchanges", EXCHANGES)
    (tmp_path / "real").write_text("real")
    whole = rdb("run", "--name", "job", "--", program)
    assert whole.stdout == "17 17\n0\n0\nnone ours\nours mine\nreal real\n", whole.stderr
    at = events_called(open_job("job").rank(0), "getppid")[0]
    branch = rdb("restart", "job", "--at", at)
    assert (branch.returncode, branch.stdout) == (0, whole.stdout), branch.stderr
    assert (tmp_path / "real").read_text() == "real"
