"""Calls that rdb refuses: a caution names each, at the end of the run and in `rdb info`."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Rdb, replay_agrees

from tools import syscall_docs

TEXT = """
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	static const int calls[] = {%s};
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (int twice = 0; twice < 2; twice++) {
			errno = 0;
			syscall(calls[i], 0, 0, 0, 0, 0, 0);
			if (!twice)
				printf("%%d %%d\\n", calls[i], errno);
		}
	int mode = 0;
	void *tid = NULL;
	const int rc = prctl(PR_GET_TSC, &mode);
	printf("%%d %%d ", rc, mode);
	const int failed = prctl(PR_GET_TID_ADDRESS, &tid);
	printf("%%d ", failed || !tid);
	printf("%%d ", prctl(PR_SET_TSC, PR_TSC_ENABLE));
	printf("%%d\\n", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	return 0;
}
"""


def test_each_has_a_caution(rdb: Rdb, build_text: Callable[..., Path]) -> None:
    numbers = syscall_docs.numbers()
    refused = [row for row in syscall_docs.rows() if row.kind in ("NONE", "FAIL")]
    quiet = [row for row in syscall_docs.rows() if row.kind == "SAME"]
    called = ", ".join(str(numbers[row.name]) for row in (*refused, *quiet))
    done = rdb("run", "--name", "job", "--", build_text("refused", TEXT % called))
    assert done.returncode == 0, done.stderr
    names = sorted([*(row.name for row in refused), "prctl option 26"])
    assert done.stdout.endswith("0 1 0 0 -1\n")
    assert (
        f"rdb: 0: {', '.join(names)} cannot be recorded; rdb info job says where\n" in done.stderr
    )
    assert "may not replay" not in done.stderr
    told = rdb("info", "job").stdout
    for row in refused:
        assert told.count(f" {row.name} cannot be recorded: ") == 1
        assert os.strerror(getattr(errno, row.error)) in told
    replay_agrees(rdb, "job")


REQUESTS = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const int fds[] = {open("/dev/null", O_RDWR), open(argv[0], O_RDONLY), 77};
	char room[4096] = {0};
	for (int i = 0; i < 6; i++) {
		errno = 0;
		ioctl(fds[i % 3], 0xae03 /* KVM_CHECK_EXTENSION */, room);
		printf("%d ", errno);
	}
	printf("%d\\n", madvise(room, 0, 103 /* MADV_GUARD_REMOVE */));
	return 0;
}
"""


def test_requests_of_devices_have_one(rdb: Rdb, build_text: Callable[..., Path]) -> None:
    """Where the kernel would have refused them as well nothing is said."""
    done = rdb("run", "--name", "requests", "--", build_text("requests", REQUESTS))
    answers = f"{errno.ENOTTY} {errno.ENOTTY} {errno.EBADF} "
    assert (done.returncode, done.stdout[: 2 * len(answers)]) == (0, answers * 2), done.stderr
    assert "ioctl request 0xae03" in done.stderr and "cannot be recorded" in done.stderr
    told = rdb("info", "requests").stdout
    assert told.count(" ioctl request 0xae03 cannot be recorded: ") == 1
    replay_agrees(rdb, "requests")


SHARED = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const int child = !strcmp(argv[1], "child"), keeps = argc > 3;
	int ready[2], c = 0;
	const char *name = argv[2];
	int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 1024) || pipe(ready))
		return 1;
	pid_t pid = 0;
	if (child && !(pid = fork())) {
		char byte;
		close(ready[1]);
		return (int)read(ready[0], &byte, 1); /* with the descriptor, until the other one ends */
	}
	char *p = mmap(NULL, 1024, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	strcpy(p, "loaded");
	if (keeps)
		c = getppid() == 0;
	c += p[1];
	munmap(p, 1024);
	printf("%d\\n", c);
	return 0;
}
"""


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("how", ["alone", "child", "outsider"])
def test_shared_memory_for_a_moment(
    rdb: Rdb, build_text: Callable[..., Path], how: str, keeps: bool
) -> None:
    """A library that writes down there that it is loaded: nothing can differ, unless a process has
    the memory that is not recorded."""
    program = build_text("moment", SHARED)
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="rdb-test-") as file:
        file.truncate(1024)
        options = (how, f"/{Path(file.name).name}", *(["keeps"] if keeps else []))
        with mmap.mmap(file.fileno(), 1024) if how == "outsider" else contextlib.nullcontext():
            done = rdb("run", "--name", "moment", "--", program, *options)
    assert (done.returncode, done.stdout) == (0, "111\n"), done.stderr
    said = "may be written by processes outside this rank" in done.stderr
    assert said == (how == "outsider"), done.stderr
    replay_agrees(rdb, "moment")
