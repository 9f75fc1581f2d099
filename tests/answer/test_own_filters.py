"""Filters for system calls that a program sets itself (seccomp(2)): as natively, in every run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from alone import record, verify_all
from conftest import Build, Rdb, replay_agrees


@pytest.mark.parametrize("how", ["ways", "threads", "generated"])
@pytest.mark.parametrize("dispatch", ["sud", "seccomp"])
def test_as_the_kernel_does(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch, how: str, dispatch: str
) -> None:
    program = build("own_filters.c", "-O1", "-pthread")
    native = deadlines.native([program, how])
    monkeypatch.setenv("RDB_DISPATCH", dispatch)
    every = "100000" if how == "generated" else "20"
    made = record(tmp_path, program, how, options=("--checkpoint-every", f"{every}events"))
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result.stderr
    verify_all(made, "filters")


@pytest.mark.parametrize("how", ["--record=off", "--no-children"])
def test_where_nothing_is_recorded(rdb: Rdb, build: Build, how: str) -> None:
    """A process that goes on natively gets its filters from the kernel."""
    program = build("own_filters.c", "-O1", "-pthread")
    for what in ("ways", "threads"):
        native = deadlines.native([program, what])
        done = rdb("run", how, "--name", what, "--", program, what)
        assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr


def test_a_restarted_program_has_them(rdb: Rdb, build: Build) -> None:
    program = build("own_filters.c", "-O1", "-pthread")
    done = rdb("run", "--name", "job", "--", program, "rounds")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    for event in (3, 30, 51):
        again = rdb("restart", "job", "--at", str(event), "--name", f"at-{event}")
        assert again.returncode == 0, again.stderr
        lines = again.stdout.splitlines()
        assert lines and said[-len(lines) :] == lines
        replay_agrees(rdb, f"at-{event}")


def test_another_process_cannot_answer(rdb: Rdb, build_text: Callable[..., Path]) -> None:
    """Who asks for notifications is told that this kernel has none."""
    done = rdb("run", "--name", "job", "--", build_text("listens", LISTENS))
    assert (done.returncode, done.stdout) == (0, "22 22 95\n"), done.stderr
    assert "seccomp 0x8 cannot be recorded" in rdb("info", "job").stdout
    replay_agrees(rdb, "job")


LISTENS = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};
	struct seccomp_notif_sizes sizes;
	unsigned action = SECCOMP_RET_USER_NOTIF;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	printf("%d ", errno);
	syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
	printf("%d ", errno);
	syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
	printf("%d\\n", errno);
	return 0;
}
"""
