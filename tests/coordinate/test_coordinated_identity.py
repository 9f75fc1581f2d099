"""What a restart cannot have again refuses a checkpoint: one program comes to each such state."""

from __future__ import annotations

import os
from pathlib import Path

import deadlines
from kinds import HEAD
from running import DEADLINE_S, BuildText, Running

# What the program does, what it does to be as before, and the reason for which there is no
# checkpoint between.
STATES = [
    (
        "send(near, &one, 1, MSG_OOB);",
        "recv(far, text, 1, MSG_OOB);",
        "urgent byte (MSG_OOB)",
    ),
    (
        "setsockopt(udp, IPPROTO_UDP, UDP_CORK, &one, 4);",
        "setsockopt(udp, IPPROTO_UDP, UDP_CORK, &no, 4);",
        "(UDP_CORK)",
    ),
    (
        "setsockopt(udp, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));",
        "setsockopt(udp, SOL_SOCKET, SO_DETACH_FILTER, &no, 4);",
        "with a filter (SO_ATTACH_FILTER",
    ),
]
OF_ROOT = [
    ("setfsuid(1000);", "setfsuid(0);", "it has changed its user or its groups"),
    (
        "syscall(SYS_capget, caps, sets); sets[0] ^= 1 << 14; syscall(SYS_capset, caps, sets);",
        "sets[0] ^= 1 << 14; syscall(SYS_capset, caps, sets);",
        "it has changed its capabilities",
    ),
    ("prctl(PR_SET_KEEPCAPS, 1);", "prctl(PR_SET_KEEPCAPS, 0);", "it has changed its securebits"),
    (
        'int here = open(".", O_RDONLY), top = open("/", O_RDONLY); chroot("."); fchdir(here);',
        'fchdir(top); chroot("."); fchdir(here);',
        "it has changed its root directory",
    ),
    (
        'int space = open("/proc/self/ns/uts", O_RDONLY); unshare(CLONE_NEWUTS);',
        "setns(space, CLONE_NEWUTS); close(space);",
        "it has another namespace than its launcher (uts)",
    ),
]
# for good
LAST = (
    'syscall(SYS_add_key, "user", "one", "two", 3, KEY_SPEC_PROCESS_KEYRING);',
    "",
    "it has a keyring of its own",
)
TEXT = (
    HEAD.replace("%%", "%").replace('"gate"', "gate_name")
    + """
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <netinet/udp.h>
#include <sys/fsuid.h>
int main(void)
{
    int one = 1, no = 0, caps[2] = {0x20080522, 0}, sets[6];
    int udp = socket(AF_INET, SOCK_DGRAM, 0), l = socket(AF_INET, SOCK_STREAM, 0);
    int near = socket(AF_INET, SOCK_STREAM, 0);
    struct sock_filter all = {BPF_RET | BPF_K, 0, 0, -1};
    struct sock_fprog filter = {1, &all};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(a);
    bind(l, (void *)&a, n);
    listen(l, 1);
    getsockname(l, (void *)&a, &n);
    connect(near, (void *)&a, n);
    int far = accept(l, NULL, NULL);
"""
)


def test_it_is_refused(tmp_path: Path, build_text: BuildText) -> None:
    states = [*STATES, *(OF_ROOT if os.geteuid() == 0 else []), LAST]
    body = "".join(
        f'gate_name = "gate-{i}"; {before} gate(); {after}\n'
        for i, (before, after, _) in enumerate(states)
    )
    text = TEXT.replace("static void gate(", "static const char *gate_name;\nstatic void gate(")
    program = build_text("program", f"{text}{body}return 0;\n}}\n", "-w")
    job = Running(tmp_path / "home", tmp_path, "job", "--", str(program))
    for i, (_, _, why) in enumerate(states):
        job.until("there")
        taken = job.rdb("checkpoint", "job", "--timeout", "90")
        assert taken.returncode == 1 and why in taken.stderr, (why, taken.stderr)
        (tmp_path / f"gate-{i}").touch()
    told = deadlines.communicate(job.process, DEADLINE_S)[1]
    assert job.process.returncode == 0, told
