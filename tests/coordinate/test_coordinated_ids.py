"""Process and thread numbers after a restart without a log: those of before, in every call."""

from __future__ import annotations

import re
import time
from pathlib import Path

import deadlines
import pytest
from kinds import HEAD
from running import DEADLINE_S, BuildText, Running

ANSWER = Path(__file__).parents[2] / "interposer" / "answer"

# What each call says of the process `pid`, its second thread `tid`, its parent, group and session.
CALLS = {
    "getpid": "SAY(getpid()); SAY(getpid() == pid);",
    "gettid": "SAY(syscall(SYS_gettid)); SAY(heard);",
    "getppid": "SAY(getppid());",
    "getpgrp": "SAY(getpgrp());",
    "getpgid": "SAY(getpgid(pid)); SAY(getpgid(0)); SAY(getpgid(tid));",
    "getsid": "SAY(getsid(pid)); SAY(getsid(0));",
    "setsid": "SAY_ERROR(setsid());",
    "setpgid": "SAY_ERROR(setpgid(pid, pid)); SAY(getpgrp()); SAY_ERROR(setpgid(0, pid));",
    "set_tid_address": "SAY(syscall(SYS_set_tid_address, &word));",
    "kill": "SAY_ERROR(kill(pid, SIGUSR1)); SAY(from); SAY_ERROR(kill(-getpgrp(), 0));"
    "SAY_ERROR(kill(getppid(), 0));",
    "tkill": "SAY_ERROR(syscall(SYS_tkill, tid, 0)); SAY_ERROR(syscall(SYS_tkill, pid, SIGUSR1));"
    "SAY(from); SAY_ERROR(pthread_kill(other, 0));",
    "tgkill": "SAY_ERROR(tgkill(pid, tid, 0)); SAY_ERROR(tgkill(pid, pid, SIGUSR1)); SAY(from);",
    "rt_sigqueueinfo": "from = 0; SAY_ERROR(sigqueue(pid, SIGUSR1, (union sigval){7})); SAY(from);",
    "rt_tgsigqueueinfo": "from = 0; info.si_pid = pid;"
    "SAY_ERROR(syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, &info)); SAY(from);",
    "pidfd_open": "fd = syscall(SYS_pidfd_open, pid, 0); SAY(fd >= 0);"
    'SAY(syscall(SYS_pidfd_open, 99999999, 0)); sprintf(text, "/proc/self/fdinfo/%%d", fd);',
    "pidfd_send_signal": "from = 0; info.si_pid = pid;"
    "SAY_ERROR(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, &info, 0)); SAY(from); close(fd);",
    "read": "fd = by_signal; kill(pid, SIGUSR2);"
    "struct signalfd_siginfo one; SAY(read(fd, &one, sizeof(one))); SAY(one.ssi_pid);",
    "readv": "struct iovec v = {&one, sizeof(one)}; one.ssi_pid = 0; kill(pid, SIGUSR2);"
    "SAY(readv(fd, &v, 1)); SAY(one.ssi_pid); close(fd);",
    "rt_sigtimedwait": "kill(pid, SIGUSR2); siginfo_t came; SAY(sigwaitinfo(&by, &came));"
    "SAY(came.si_pid);",
    "wait4": "child = fork(); if (!child) _exit(getppid() != pid); SAY(waitpid(child, &word, 0) =="
    "child); SAY(word);",
    "waitid": "child = fork(); if (!child) _exit(0); SAY_ERROR(waitid(P_PID, child, &info, "
    "WEXITED));"
    "SAY(info.si_pid == child); SAY_ERROR(waitid(P_PID, pid, &info, WEXITED));",
    "clone": "fflush(stdout); child = syscall(SYS_clone, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |"
    "SIGCHLD, 0, &word, &in_child, 0); if (!child) _exit(in_child != syscall(SYS_getpid));"
    "SAY(word == child); SAY(waitpid(child, &word, 0) == child); SAY(word);",
    "get_robust_list": "void *list = 0; size_t size; SAY_ERROR(syscall(SYS_get_robust_list, tid, "
    "&list, &size)); SAY(list != NULL); SAY_ERROR(syscall(SYS_get_robust_list, pid, &list, &size));"
    "SAY(size);",
    "prlimit64": "struct rlimit l; SAY_ERROR(prlimit(pid, RLIMIT_CORE, NULL, &l));",
    "process_vm_readv": "long a = 5, b = 0; struct iovec m = {&b, 8}, t = {&a, 8};"
    "SAY(process_vm_readv(pid, &m, 1, &t, 1, 0)); SAY(b);",
    "process_vm_writev": "a = 6; SAY(process_vm_writev(tid, &t, 1, &m, 1, 0)); SAY(b);",
    "kcmp": "SAY(syscall(SYS_kcmp, pid, pid, 0, 1, 1)); SAY(syscall(SYS_kcmp, pid, tid, 1, 0, 0));",
    "utimensat": 'fd = open("stamped", O_RDWR | O_CREAT, 0600); SAY_ERROR(futimens(fd, NULL));'
    "SAY_ERROR(syscall(SYS_futimesat, fd, NULL, NULL)); close(fd);",
    "migrate_pages": "SAY_ERROR(syscall(SYS_migrate_pages, pid, 0, NULL, NULL));",
    "move_pages": "SAY_ERROR(syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0));",
    "ioprio_get": "SAY(syscall(SYS_ioprio_get, 1, tid)); SAY(syscall(SYS_ioprio_get, 2, "
    "getpgrp()));",
    "ioprio_set": "SAY_ERROR(syscall(SYS_ioprio_set, 1, pid, 2 << 13 | 4));",
    "getpriority": "SAY(getpriority(PRIO_PROCESS, tid)); SAY(getpriority(PRIO_PGRP, getpgrp()));",
    "setpriority": "SAY_ERROR(setpriority(PRIO_PROCESS, tid, 1));",
    "sched_setaffinity": "cpu_set_t set; CPU_ZERO(&set); CPU_SET(sched_getcpu(), &set);"
    "SAY_ERROR(sched_setaffinity(tid, sizeof(set), &set));",
    "sched_getaffinity": "CPU_ZERO(&set); SAY_ERROR(sched_getaffinity(tid, sizeof(set), &set));"
    "SAY(CPU_COUNT(&set));",
    "sched_setscheduler": "struct sched_param p = {0}; SAY_ERROR(sched_setscheduler(tid, "
    "SCHED_BATCH, &p));",
    "sched_getscheduler": "SAY(sched_getscheduler(tid)); SAY(sched_getscheduler(pid));",
    "sched_setparam": "SAY_ERROR(sched_setparam(tid, &p));",
    "sched_getparam": "SAY_ERROR(sched_getparam(pid, &p));",
    "sched_setattr": "unsigned attr[14] = {48}; SAY_ERROR(syscall(SYS_sched_setattr, tid, "
    "attr, 0));",
    "sched_getattr": "SAY_ERROR(syscall(SYS_sched_getattr, tid, attr, 56, 0)); SAY(attr[1]);",
    "sched_rr_get_interval": "struct timespec ts; SAY_ERROR(sched_rr_get_interval(tid, &ts));",
    "clock_gettime": "SAY_ERROR(clock_getcpuclockid(pid, &clock)); "
    "SAY_ERROR(clock_gettime(clock, &ts));"
    "pthread_getcpuclockid(other, &of_thread); SAY(of_thread); "
    "SAY_ERROR(clock_gettime(of_thread, &ts));",
    "clock_getres": "SAY_ERROR(clock_getres(clock, &ts)); SAY(ts.tv_nsec);",
    "clock_settime": "SAY_ERROR(clock_settime(clock, &ts));",
    "clock_adjtime": "memset(text, 0, 256); SAY_ERROR(syscall(SYS_clock_adjtime, clock, text));",
    "clock_nanosleep": "ts = (struct timespec){0, 1}; SAY(clock_nanosleep(clock, "
    "TIMER_ABSTIME, &ts, NULL));",
    "timer_create": "struct sigevent how = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = "
    "SIGUSR1};"
    "how._sigev_un._tid = tid; timer_t made; SAY_ERROR(timer_create(clock, &how, &made));",
    "capget": "unsigned head[2] = {0x20080522, pid}, data[6]; SAY_ERROR(syscall(SYS_capget, "
    "head, data));"
    "SAY(head[1] == pid);",
    "capset": "SAY_ERROR(syscall(SYS_capset, head, data));",
    "prctl": "SAY_ERROR(prctl(PR_SET_PTRACER, pid, 0, 0, 0));",
    "fcntl": "SAY_ERROR(fcntl(end[0], F_SETOWN, pid)); SAY(fcntl(end[0], F_GETOWN));"
    "struct f_owner_ex o = {F_OWNER_TID, tid}; SAY_ERROR(fcntl(end[0], F_SETOWN_EX, &o)); "
    "o.pid = 0;"
    "SAY_ERROR(fcntl(end[0], F_GETOWN_EX, &o)); SAY(o.pid); SAY_ERROR(fcntl(end[0], F_SETOWN, "
    "-getpgrp())); SAY_ERROR(fcntl(end[0], F_GETOWN_EX, &o)); SAY(o.pid);"
    'int file = open("lock", O_RDWR | O_CREAT, 0600); struct flock lock = {.l_type = F_WRLCK};'
    "fcntl(file, F_SETLK, &lock); fflush(stdout); child = fork(); if (!child) { fcntl(file, "
    "F_GETLK, "
    "&lock); _exit(lock.l_pid != pid); } waitpid(child, &word, 0); SAY(word);",
    "ioctl": "word = pid; SAY_ERROR(ioctl(pair[0], FIOSETOWN, &word)); word = 0;"
    "SAY_ERROR(ioctl(pair[0], FIOGETOWN, &word)); SAY(word); SAY(ioctl(pair[0], SIOCSPGRP, &word));"
    "SAY_ERROR(ioctl(pair[0], SIOCGPGRP, &word)); SAY(word); SAY_ERROR(ioctl(0, TIOCGPGRP, "
    "&word));",
    "getsockopt": "struct ucred c; socklen_t len = sizeof(c); int two[2];"
    "socketpair(AF_UNIX, SOCK_DGRAM, 0, two);"
    "SAY_ERROR(getsockopt(two[0], SOL_SOCKET, SO_PEERCRED, &c, &len)); SAY(c.pid);",
    "sendmsg": "setsockopt(two[1], SOL_SOCKET, SO_PASSCRED, &(int){1}, 4); c.pid = pid;"
    "union { char of[CMSG_SPACE(sizeof(c))]; struct cmsghdr h; } room = {0};"
    "struct iovec part = {&word, 4}; struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1,"
    "  .msg_control = &room, .msg_controllen = sizeof(room)};"
    "room.h = (struct cmsghdr){CMSG_LEN(sizeof(c)), SOL_SOCKET, SCM_CREDENTIALS};"
    "memcpy(CMSG_DATA(&room.h), &c, sizeof(c)); SAY_ERROR(sendmsg(two[0], &msg, 0));",
    "recvmsg": "memset(&room, 0, sizeof(room)); SAY_ERROR(recvmsg(two[1], &msg, 0));"
    "memcpy(&c, CMSG_DATA(&room.h), sizeof(c)); SAY(c.pid);",
    "recvmmsg": "write(two[0], text, 4); memset(&room, 0, sizeof(room)); msg.msg_controllen ="
    "sizeof(room); struct mmsghdr many = {msg}; SAY(recvmmsg(two[1], &many, 1, 0, NULL));"
    "memcpy(&c, CMSG_DATA(&room.h), sizeof(c)); SAY(c.pid);",
    "semctl": "int s = semget(IPC_PRIVATE, 1, 0600); semctl(s, 0, SETVAL, 2);"
    "SAY(semctl(s, 0, GETPID)); semctl(s, 0, IPC_RMID);",
    "shmctl": "s = shmget(IPC_PRIVATE, 4096, 0600); struct shmid_ds d; shmctl(s, IPC_STAT, &d);"
    "SAY(d.shm_cpid); SAY(d.shm_lpid); shmctl(s, IPC_RMID, NULL);",
    "msgctl": "s = msgget(IPC_PRIVATE, 0600); long q[2] = {1}; msgsnd(s, q, 8, 0); struct "
    "msqid_ds e;"
    "msgctl(s, IPC_STAT, &e); SAY(e.msg_lspid); SAY(e.msg_lrpid); msgctl(s, IPC_RMID, NULL);",
    "open": r"""sprintf(text, "/proc/%%d/stat", pid); SAY(first(text));
        SAY(first("/proc/self/stat"));
        sprintf(text, "/proc/%%d/task/%%d/stat", pid, tid); SAY(first(text));
        sprintf(text, "/proc/self/task/%%d/stat", tid); SAY(first(text));
        fd = open("/proc", O_RDONLY); sprintf(text, "%%d/stat", pid);
        word = openat(fd, text, O_RDONLY); SAY(got(word) > 0); SAY(atoi(text)); close(word);
        close(fd); chdir("/proc/self/task"); sprintf(text, "%%d/stat", tid); SAY(first(text));
        chdir(where);""",
    "status": r"""FILE *f = fopen("/proc/self/status", "r");
        while (fgets(text, 256, f)) if (strstr(text, "id:") && !strstr(text, "Uid") &&
        !strstr(text, "Gid")) fputs(text, stdout); fclose(f);
        f = fopen("/proc/self/stat", "r"); fgets(text, 256, f); fclose(f); int ids[4]; char state;
        sscanf(strrchr(text, ')'), ") %%c %%d %%d %%d", &state, ids, ids + 1, ids + 2);
        SAY(ids[0]); SAY(ids[1]); SAY(ids[2]);""",
    "getdents64": 'DIR *dir = opendir("/proc/self/task"); for (struct dirent *x; (x = '
    "readdir(dir));)"
    'if (atoi(x->d_name)) SAY(atoi(x->d_name)); closedir(dir); dir = opendir("/proc"); word = 0;'
    "for (struct dirent *x; (x = readdir(dir));) word += atoi(x->d_name) == pid; SAY(word);",
    "readlink": 'memset(text, 0, 256); SAY(readlink("/proc/self", text, 255)); puts(text);'
    'memset(text, 0, 256); SAY(readlink("/proc/thread-self", text, 255)); puts(text);',
    "futex": """SAY(pthread_mutex_unlock(&checked)); SAY(pthread_mutex_unlock(&inherits));
        SAY(pthread_mutex_lock(&inherits)); SAY(pthread_mutex_lock(&inherits));
        SAY(pthread_mutex_trylock(&of_other)); SAY(pthread_mutex_trylock(&robust));
        SAY(pthread_mutex_unlock(&robust)); sem_post(&go); SAY(pthread_mutex_lock(&of_other));
        SAY(pthread_mutex_lock(&left)); SAY(pthread_mutex_consistent(&left));
        SAY(pthread_mutex_unlock(&left)); pthread_join(other, NULL); SAY(heard);
        pthread_create(&other, NULL, cancelled, NULL); SAY(pthread_cancel(other));
        void *how_ended; pthread_join(other, &how_ended); SAY(how_ended == PTHREAD_CANCELED);""",
}
OUTSIDE = """
#include <dirent.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#ifndef CLONE_PARENT_SETTID
#define CLONE_PARENT_SETTID 0x00100000
#define CLONE_CHILD_SETTID 0x01000000
#endif
#ifndef FIOSETOWN
#define FIOSETOWN 0x8901
#define SIOCSPGRP 0x8902
#define FIOGETOWN 0x8903
#define SIOCGPGRP 0x8904
#endif
static pthread_mutex_t checked, inherits, of_other, robust, left;
static sem_t begun, go;
static volatile int tid, heard, from, in_child;
static void on_signal(int sig, siginfo_t *info, void *uc) { from = info->si_pid; }
static void *run(void *arg)
{
    tid = syscall(SYS_gettid);
    pthread_mutex_lock(&of_other);
    pthread_mutex_lock(&left);
    sem_post(&begun);
    while (sem_wait(&go))
        ;
    heard = syscall(SYS_gettid);
    pthread_mutex_unlock(&of_other);
    return NULL;
}
static void *cancelled(void *arg) { for (;;) pause(); }
static int first(const char *path)
{
    int number = 0;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%%d", &number) != 1)
        number = -1;
    if (f)
        fclose(f);
    return number;
}
static void of_kind(pthread_mutex_t *m, int type, int protocol, int robust)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, type);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutexattr_setrobust(&a, robust);
    pthread_mutex_init(m, &a);
}
"""
BEFORE = """
    int pid = getpid(), fd, word = 0, child, end[2], pair[2];
    clockid_t clock, of_thread;
    char where[4096];
    siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    pthread_t other;
    sigset_t by;
    sigemptyset(&by);
    sigaddset(&by, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &by, NULL);
    int by_signal = signalfd(-1, &by, 0);
    getcwd(where, sizeof(where));
    sigaction(SIGUSR1, &sa, NULL);
    pipe(end);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    of_kind(&checked, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
    of_kind(&inherits, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    of_kind(&of_other, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
    of_kind(&robust, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    of_kind(&left, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_lock(&checked);
    pthread_mutex_lock(&inherits);
    pthread_mutex_lock(&robust);
    pthread_create(&other, NULL, run, NULL);
    while (sem_wait(&begun))
        ;
"""
COLLIDES = """
    int mine = getpid(), thread = tid;
    SAY(mine);
    struct clone_args how = {.exit_signal = SIGCHLD, .set_tid_size = 1};
    how.set_tid = (uintptr_t)&mine;
    int status;
    for (int turn = 0; turn < 1000; turn++) { /* another process may have the number for a while */
        child = syscall(SYS_clone3, &how, sizeof(how));
        if (child >= 0 || errno != EEXIST)
            break;
        usleep(1000);
    }
    if (!child)
        _exit(getpid() == mine || getppid() != mine);
    printf("%%d\\n", child < 0 ? -errno : child == mine || kill(child, 0) ||
           waitpid(child, &status, 0) != child || status);
    sem_post(&go);
    pthread_join(other, NULL);
    SAY(heard == thread);
    SAY_ERROR(tgkill(mine, thread, 0));
"""


def _program(build_text: BuildText, after: str) -> Path:
    return build_text(
        "ids",
        (HEAD + OUTSIDE + "int main(void)\n{\n%s\ngate();\n%s\nfflush(stdout);\nreturn 0;\n}\n")
        % (BEFORE, after.replace("%%", "%")),
        "-w",
        "-pthread",
    )


def _checkpoint(job: Running, number: int) -> None:
    job.until("there")
    taken = job.rdb("checkpoint", job.name, "--timeout", "90")
    assert taken.returncode == 0 and f"checkpoint {number}" in taken.stdout, taken.stderr


def test_every_call_knows_them_over_two_restarts(tmp_path: Path, build_text: BuildText) -> None:
    text = "".join(f'puts("{name}:");{{}}{call}\n' for name, call in CALLS.items())
    program = _program(build_text, "gate();" + text)
    job = Running(tmp_path / "home", tmp_path, "job", "--", str(program))
    _checkpoint(job, 1)
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(job.process, DEADLINE_S)
    assert job.process.returncode == 0, told
    said = said.removeprefix("there\n")
    (tmp_path / "gate").unlink()
    again = Running(tmp_path / "home", tmp_path, "again", "--at", "ckpt:1", restart="job")
    again.until_all_run()
    taken = again.rdb("checkpoint", "again", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "gate").touch()
    once, told = deadlines.communicate(again.process, DEADLINE_S)
    assert once.removeprefix("there\n").splitlines() == said.splitlines(), told
    twice = job.rdb("restart", "again")
    assert twice.stdout.removeprefix("there\n").splitlines() == said.splitlines(), twice.stderr
    recorded = job.rdb("restart", "job", "--record", "full", "--name", "recorded")
    assert recorded.stdout.removeprefix("there\n").splitlines() == said.splitlines()
    from_log = job.rdb("restart", "recorded", "--at", "1")
    assert _of_the_program(from_log.stdout) == _of_the_program(said), from_log.stderr


def _of_the_program(said: str) -> list[str]:
    """Without the numbers of its parent, group and session, which no log has."""
    parts = re.split(r"^(\w+):\n", said, flags=re.M)[1:]
    others = {"getppid", "getpgrp", "getpgid", "getsid", "setpgid", "fcntl", "status"}
    return [text for name, text in zip(parts[::2], parts[1::2], strict=True) if name not in others]


def test_a_new_process_gets_none_of_them(tmp_path: Path, build_text: BuildText) -> None:
    """Also one to which the kernel gives the number that the program had before."""
    job = Running(tmp_path / "home", tmp_path, "job", "--", str(_program(build_text, COLLIDES)))
    _checkpoint(job, 1)
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(job.process, DEADLINE_S)
    own = re.search(r"mine = (\d+)", said)
    assert job.process.returncode == 0 and own, told
    if said.splitlines()[1] == "-1":
        pytest.skip("the kernel lets nobody choose the number of a process here")
    until = deadlines.Deadline(DEADLINE_S)
    while Path(f"/proc/{own[1]}").exists():  # another process of the machine has it
        assert not until.over()
        time.sleep(0.02)
    again = job.rdb("restart", "job")
    assert again.stdout.splitlines() == [
        own[0],
        "0",
        "heard == thread = 1",
        "tgkill(mine, thread, 0): No such process",
    ], again.stderr


def test_each_call_with_a_number_is_here() -> None:
    """Those declared with a pid_t (linux/syscalls.h of the kernel), and those translated."""
    rows = dict(re.findall(r"^SYS\((\w+), (\w+)", (ANSWER / "syscalls.def").read_text(), re.M))
    cases = set(re.findall(r"case SYS_(\w+)", (ANSWER / "pid_calls.c").read_text()))
    declared = {
        *("getpid", "getppid", "gettid", "getpgid", "getpgrp", "getsid", "setpgid", "setsid"),
        *("sched_setscheduler", "sched_setparam", "sched_setattr", "sched_getscheduler"),
        *("sched_getparam", "sched_getattr", "sched_setaffinity", "sched_getaffinity"),
        *(
            "sched_rr_get_interval",
            "setpriority",
            "getpriority",
            "wait4",
            "waitid",
            "kill",
            "tkill",
        ),
        *("tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64", "ptrace", "ioprio_set"),
        *(
            "ioprio_get",
            "migrate_pages",
            "move_pages",
            "get_robust_list",
            "perf_event_open",
            "kcmp",
        ),
        *("process_vm_readv", "process_vm_writev", "pidfd_open", "set_tid_address", "clone"),
    }
    passed = {name for name in cases | declared if rows[name] not in ("FAIL", "NONE", "SAME")}
    assert passed <= set(CALLS)
