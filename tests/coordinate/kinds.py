"""Kinds of kernel state at a checkpoint without a log: a small program for each.

Each row: what the program does before the checkpoint, and what it says after it. `refused` is the
reason for which a checkpoint is refused; "" if it is taken.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    name: str
    before: str
    after: str
    refused: str = ""
    outside: str = ""
    """Functions and variables of the program."""


HEAD = """
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define SAY(what) printf("%%s = %%ld\\n", #what, (long)(what))
#define SAY_ERROR(what) printf("%%s: %%s\\n", #what, (what) < 0 ? strerror(errno) : "works")
static void gate(void)
{
    puts("there");
    fflush(stdout);
    while (access("gate", F_OK))
        usleep(1000);
}
static char text[256];
static ssize_t got(int fd)
{
    memset(text, 0, sizeof(text));
    return read(fd, text, sizeof(text) - 1);
}
"""

PROGRAM = HEAD + "%s\nint main(void)\n{\n%s\ngate();\n%s\nfflush(stdout);\nreturn 0;\n}\n"

KINDS = [
    Kind(
        "eventfd",
        "uint64_t v; int e = eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK), f = eventfd(7, 0);",
        """SAY(read(e, &v, 8)); SAY(v); SAY(read(e, &v, 8)); SAY(read(e, &v, 8));
        SAY_ERROR(read(e, &v, 8)); SAY(read(f, &v, 8)); SAY(v);
        SAY(fcntl(f, F_GETFL) & O_NONBLOCK);""",
    ),
    Kind(
        "eventfd-empty",
        "uint64_t v = 2; int e = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);",
        """SAY_ERROR(read(e, &v, 8)); SAY(write(e, &v, 8)); SAY(read(e, &v, 8)); SAY(v);
        SAY(fcntl(e, F_GETFD));""",
    ),
    Kind(
        "pipe",
        """int p[2]; pipe2(p, O_NONBLOCK | O_CLOEXEC); fcntl(p[1], F_SETPIPE_SZ, 1 << 18);
        write(p[1], "in it", 5);""",
        """SAY(got(p[0])); puts(text); SAY_ERROR(got(p[0])); SAY(fcntl(p[0], F_GETFL));
        SAY(fcntl(p[1], F_GETFL)); SAY(fcntl(p[0], F_GETFD)); SAY(fcntl(p[1], F_GETPIPE_SZ));""",
    ),
    Kind(
        "pipe-packets",
        'int p[2]; pipe2(p, O_DIRECT); write(p[1], "one", 3); write(p[1], "two", 3);',
        "SAY(got(p[0])); puts(text); SAY(got(p[0])); puts(text);",
        "a pipe with packets in it",
    ),
    Kind(
        "pipe-writer-closed",
        'int p[2]; pipe(p); write(p[1], "rest", 4); close(p[1]);',
        "SAY(got(p[0])); puts(text); SAY(got(p[0]));",
    ),
    Kind(
        "pipe-reader-closed",
        "int p[2]; pipe(p); close(p[0]); signal(SIGPIPE, SIG_IGN);",
        'SAY_ERROR(write(p[1], "x", 1));',
    ),
    Kind("pty", "int a, b; openpty(&a, &b, 0, 0, 0);", "SAY(isatty(a));", "is /dev/p"),
    Kind(
        "fifo",
        'mkfifo("fifo", 0600); int f = open("fifo", O_RDWR);',
        "SAY(fcntl(f, F_GETFL));",
        "a FIFO",
    ),
    Kind("inotify", "int i = inotify_init1(0);", "SAY(i);", "anon_inode:inotify"),
    Kind(
        "memfd",
        """int m = memfd_create("mine", MFD_ALLOW_SEALING | MFD_CLOEXEC); write(m, "content", 7);
        lseek(m, 2, SEEK_SET); fcntl(m, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);""",
        """SAY(got(m)); puts(text); SAY(fcntl(m, F_GET_SEALS)); SAY_ERROR(ftruncate(m, 1));
        SAY(fcntl(m, F_GETFD)); SAY(lseek(m, 0, SEEK_END));""",
    ),
    Kind(
        "unlinked",
        """int u = open("gone", O_RDWR | O_CREAT, 0600); write(u, "content", 7); unlink("gone");
        lseek(u, 3, SEEK_SET);""",
        """SAY(got(u)); puts(text); SAY(write(u, "more", 4)); SAY(lseek(u, 0, SEEK_END));
        SAY_ERROR(access("gone", F_OK)); struct stat st; fstat(u, &st); SAY(st.st_nlink);""",
    ),
    Kind(
        "file-numbers",
        """int w = open("numbered", O_RDWR | O_CREAT, 0600); struct stat was, st; struct statx x;
        fstat(w, &was);""",
        """fstat(w, &st); SAY(st.st_ino == was.st_ino && st.st_dev == was.st_dev);
        stat("numbered", &st); SAY(st.st_ino == was.st_ino && st.st_dev == was.st_dev);
        statx(AT_FDCWD, "numbered", 0, STATX_BASIC_STATS, &x); SAY(x.stx_ino == was.st_ino);
        close(w); w = open("numbered", O_RDONLY); fstat(w, &st); SAY(st.st_ino == was.st_ino);""",
    ),
    Kind(
        "tmpfile",
        'FILE *f = tmpfile(); fputs("text", f); fflush(f); rewind(f);',
        "SAY(fgets(text, 9, f) != NULL); puts(text);",
    ),
    Kind(
        "flock",
        """int a = open("lock", O_RDWR | O_CREAT, 0600), b = open("lock", O_RDWR);
        flock(a, LOCK_EX);""",
        """SAY_ERROR(flock(b, LOCK_EX | LOCK_NB)); SAY_ERROR(flock(a, LOCK_UN));
        SAY_ERROR(flock(b, LOCK_EX | LOCK_NB));""",
    ),
    Kind(
        "flock-shared",
        """int a = open("lock", O_RDONLY | O_CREAT, 0600), b = open("lock", O_RDONLY);
        flock(a, LOCK_SH);""",
        """SAY_ERROR(flock(b, LOCK_EX | LOCK_NB)); SAY_ERROR(flock(b, LOCK_SH | LOCK_NB));""",
    ),
    Kind(
        "posix-lock",
        """int a = open("lock", O_RDWR | O_CREAT, 0600);
        struct flock l = {.l_type = F_WRLCK, .l_start = 3, .l_len = 4}; fcntl(a, F_SETLK, &l);
        struct flock m = {.l_type = F_RDLCK, .l_start = 100}; fcntl(a, F_SETLK, &m);""",
        """fflush(stdout); if (!fork()) {
            struct flock t = {.l_type = F_WRLCK, .l_start = 0, .l_len = 50};
            fcntl(a, F_GETLK, &t); SAY(t.l_type); SAY(t.l_start); SAY(t.l_len);
            struct flock u = {.l_type = F_WRLCK, .l_start = 60};
            fcntl(a, F_GETLK, &u); SAY(u.l_type); SAY(u.l_start); SAY(u.l_len);
            fflush(stdout); _exit(0); }
        wait(NULL);""",
    ),
    Kind(
        "ofd-lock",
        """int a = open("lock", O_RDWR | O_CREAT, 0600), b = open("lock", O_RDWR);
        struct flock l = {.l_type = F_WRLCK, .l_start = 3, .l_len = 4};
        fcntl(a, F_OFD_SETLK, &l);""",
        """struct flock t = {.l_type = F_WRLCK}; fcntl(b, F_OFD_GETLK, &t);
        SAY(t.l_type); SAY(t.l_start); SAY(t.l_len);""",
    ),
    Kind(
        "lease",
        """int a = open("lease", O_RDONLY | O_CREAT, 0600); signal(SIGIO, SIG_IGN);
        if (fcntl(a, F_SETLEASE, F_RDLCK)) return 1;""",
        "SAY(fcntl(a, F_GETLEASE));",
        "a lease",
    ),
    Kind(
        "multicast",
        """int s = socket(AF_INET, SOCK_DGRAM, 0);
        struct ip_mreq m = {.imr_multiaddr.s_addr = inet_addr("239.1.2.3"),
                            .imr_interface.s_addr = inet_addr("127.0.0.1")};
        if (setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m))) return 1;""",
        "SAY(s);",
        "multicast group",
    ),
    Kind(
        "system-v-semaphores",
        "int s = semget(IPC_PRIVATE, 2, 0600); semctl(s, 0, SETVAL, 5);",
        "SAY(semctl(s, 0, GETVAL)); semctl(s, 0, IPC_RMID);",
        "a System V semaphore set",
    ),
    Kind(
        "system-v-queue",
        """int q = msgget(IPC_PRIVATE, 0600); struct { long t; char c[4]; } m = {1, "abc"};
        msgsnd(q, &m, 4, 0);""",
        "SAY(msgrcv(q, &m, 4, 0, IPC_NOWAIT)); msgctl(q, IPC_RMID, NULL);",
        "a System V message queue",
    ),
    Kind(
        "system-v-memory",
        """int s = shmget(IPC_PRIVATE, 4096, 0600); char *p = shmat(s, NULL, 0); strcpy(p, "there");
        shmctl(s, IPC_RMID, NULL);""",
        "puts(p);",
        "shared memory: /SYSV",
    ),
    Kind(
        "system-v-memory-detached",
        """int s = shmget(IPC_PRIVATE, 4096, 0600); char *p = shmat(s, NULL, 0); strcpy(p, "there");
        shmdt(p);""",
        """p = shmat(s, NULL, 0); puts(p == (void *)-1 ? strerror(errno) : p);
        shmctl(s, IPC_RMID, NULL);""",
        "System V",
    ),
    Kind(
        "posix-semaphore",
        'sem_t *s = sem_open("/rdb-kinds", O_CREAT, 0600, 3); sem_unlink("/rdb-kinds");',
        "int v; sem_getvalue(s, &v); SAY(v);",
    ),
    Kind(
        "unnamed-semaphore",
        "sem_t s; sem_init(&s, 0, 2); sem_wait(&s);",
        "int v; sem_getvalue(&s, &v); SAY(v); SAY(sem_trywait(&s)); SAY_ERROR(sem_trywait(&s));",
    ),
    Kind(
        "posix-queue",
        'mqd_t q = mq_open("/rdb-kinds", O_RDWR | O_CREAT, 0600, NULL); mq_unlink("/rdb-kinds");',
        'SAY(mq_send(q, "a", 1, 0));',
        "message queue",
    ),
    Kind(
        "netlink",
        """int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
        struct sockaddr_nl a = {.nl_family = AF_NETLINK}; bind(s, (void *)&a, sizeof(a));""",
        "SAY(s);",
        "a socket",
    ),
    Kind(
        "udp",
        """int s = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), on = 1;
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        setsockopt(s, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)); bind(s, (void *)&a, sizeof(a));
        socklen_t n = sizeof(a); getsockname(s, (void *)&a, &n);""",
        """SAY(sendto(s, "hello", 5, 0, (void *)&a, sizeof(a))); SAY(got(s)); puts(text); int v = 0;
        socklen_t m = sizeof(v); getsockopt(s, SOL_SOCKET, SO_BROADCAST, &v, &m); SAY(v);""",
    ),
    Kind(
        "udp-unread",
        """int s = socket(AF_INET, SOCK_DGRAM, 0);
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        bind(s, (void *)&a, sizeof(a)); socklen_t n = sizeof(a); getsockname(s, (void *)&a, &n);
        sendto(s, "hello", 5, 0, (void *)&a, sizeof(a));""",
        "SAY(got(s));",
        "with unread messages",
    ),
    Kind(
        "tcp-to-itself",
        """int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        bind(l, (void *)&a, sizeof(a)); listen(l, 1); socklen_t n = sizeof(a);
        getsockname(l, (void *)&a, &n); connect(c, (void *)&a, n); int s = accept(l, NULL, NULL);
        write(c, "way", 3); write(s, "back", 4);""",
        "SAY(got(s)); puts(text); SAY(got(c)); puts(text); SAY(write(c, text, 4)); SAY(got(s));",
    ),
    Kind(
        "socketpair",
        'int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); write(p[0], "pair", 4);',
        "SAY(got(p[1])); puts(text);",
    ),
    Kind(
        "timerfd",
        """int t = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK); uint64_t v;
        struct itimerspec i = {{1000, 0}, {500, 0}}; timerfd_settime(t, 0, &i, NULL);""",
        """struct itimerspec r; timerfd_gettime(t, &r); SAY(r.it_interval.tv_sec);
        SAY(r.it_value.tv_sec > 300 && r.it_value.tv_sec < 500); SAY_ERROR(read(t, &v, 8));""",
    ),
    Kind(
        "timerfd-expired",
        """int t = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK); uint64_t v;
        struct itimerspec i = {{0, 0}, {0, 1}}, r; timerfd_settime(t, 0, &i, NULL);
        int p = timerfd_create(CLOCK_MONOTONIC, 0); i.it_interval.tv_sec = 1000;
        timerfd_settime(p, 0, &i, NULL); usleep(2000);""",
        """SAY(read(t, &v, 8)); SAY(v); SAY_ERROR(read(t, &v, 8)); SAY(read(p, &v, 8)); SAY(v);
        timerfd_gettime(p, &r); SAY(r.it_value.tv_sec > 500);""",
    ),
    Kind(
        "timerfd-real-time",
        """int t = timerfd_create(CLOCK_REALTIME, 0), a = timerfd_create(CLOCK_BOOTTIME_ALARM, 0);
        struct timespec n; clock_gettime(CLOCK_REALTIME, &n);
        struct itimerspec i = {{7, 0}, {n.tv_sec + 500, 0}}, r;
        timerfd_settime(t, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &i, NULL);
        i.it_value.tv_sec = 500; timerfd_settime(a, 0, &i, NULL);""",
        """struct timespec m; clock_gettime(CLOCK_REALTIME, &m); timerfd_gettime(t, &r);
        double first = m.tv_sec + m.tv_nsec / 1e9, left = r.it_value.tv_sec +
            r.it_value.tv_nsec / 1e9; clock_gettime(CLOCK_REALTIME, &m);
        double last = m.tv_sec + m.tv_nsec / 1e9;
        SAY(first + left < n.tv_sec + 500.001); SAY(last + left > n.tv_sec + 499.999);
        sprintf(text, "/proc/self/fdinfo/%d", t); int f = open(text, O_RDONLY); got(f);
        printf("%.19s", strstr(text, "settime flags:")); timerfd_gettime(a, &r);
        SAY(r.it_interval.tv_sec);""",
    ),
    Kind(
        "posix-timer",
        """timer_t t; struct sigevent e = {.sigev_notify = SIGEV_NONE};
        timer_create(CLOCK_MONOTONIC, &e, &t);
        struct itimerspec i = {{7, 0}, {500, 0}}; timer_settime(t, 0, &i, NULL);""",
        """struct itimerspec r; timer_gettime(t, &r); SAY(r.it_interval.tv_sec);
        SAY(r.it_value.tv_sec > 300 && r.it_value.tv_sec < 500); SAY(timer_delete(t));""",
    ),
    Kind(
        "itimer",
        "struct itimerval i = {{9, 0}, {500, 0}}; setitimer(ITIMER_REAL, &i, NULL);",
        """struct itimerval r; getitimer(ITIMER_REAL, &r); SAY(r.it_interval.tv_sec);
        SAY(r.it_value.tv_sec > 300 && r.it_value.tv_sec < 500);""",
    ),
    Kind(
        "signalfd",
        """sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); sigprocmask(SIG_BLOCK, &s, NULL);
        int f = signalfd(-1, &s, SFD_NONBLOCK); kill(getpid(), SIGUSR1);""",
        """struct signalfd_siginfo i; SAY(read(f, &i, sizeof(i))); SAY(i.ssi_signo);
        SAY(i.ssi_pid == getpid()); SAY_ERROR(read(f, &i, sizeof(i)));""",
    ),
    Kind(
        "epoll",
        """int e = epoll_create1(EPOLL_CLOEXEC), p[2]; pipe(p); write(p[1], "x", 1);
        struct epoll_event v = {.events = EPOLLIN | EPOLLET, .data.u64 = 0x123456789abcdef};
        epoll_ctl(e, EPOLL_CTL_ADD, p[0], &v);
        struct epoll_event o = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = 7};
        int q[2]; pipe(q); write(q[1], "x", 1); epoll_ctl(e, EPOLL_CTL_ADD, q[0], &o);
        while (epoll_wait(e, &o, 1, 0) == 1 && o.data.u64 != 7) {}""",
        """struct epoll_event w[4]; int n = epoll_wait(e, w, 4, 0);
        for (int i = 0; i < n; i++) if (w[i].data.u64 == 7) puts("the one shot again");
        write(p[1], "y", 1); SAY(epoll_wait(e, w, 4, 0)); SAY(w[0].data.u64);
        o.events = EPOLLIN; o.data.u64 = 8; SAY(epoll_ctl(e, EPOLL_CTL_MOD, q[0], &o));
        SAY(epoll_wait(e, w, 1, 0)); SAY(w[0].data.u64); SAY(fcntl(e, F_GETFD));""",
    ),
    Kind(
        "epoll-closed",
        """int e = epoll_create1(0), p[2]; pipe(p); int d = dup(p[0]);
        struct epoll_event v = {.events = EPOLLIN, .data.u64 = 5};
        epoll_ctl(e, EPOLL_CTL_ADD, d, &v); close(d); write(p[1], "x", 1);""",
        "SAY(epoll_wait(e, &v, 1, 0)); SAY(v.data.u64);",
        "epoll",
    ),
    Kind(
        "affinity",
        """cpu_set_t c; CPU_ZERO(&c); CPU_SET(0, &c); sched_getaffinity(0, sizeof(c), &c);
        for (int i = 0, n = CPU_COUNT(&c); i < CPU_SETSIZE && n > 1; i++)
            if (CPU_ISSET(i, &c)) { CPU_CLR(i, &c); n--; }
        sched_setaffinity(0, sizeof(c), &c);""",
        """cpu_set_t d; sched_getaffinity(0, sizeof(d), &d); SAY(CPU_COUNT(&d));
        SAY(CPU_EQUAL(&c, &d));""",
    ),
    Kind("nice", "nice(3);", "SAY(getpriority(PRIO_PROCESS, 0));"),
    Kind(
        "limits",
        """struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); l.rlim_cur = 100;
        setrlimit(RLIMIT_NOFILE, &l); getrlimit(RLIMIT_STACK, &l); l.rlim_cur = 4 << 20;
        setrlimit(RLIMIT_STACK, &l); struct rlimit z = {0, 0}; setrlimit(RLIMIT_CORE, &z);""",
        """getrlimit(RLIMIT_NOFILE, &l); SAY(l.rlim_cur); getrlimit(RLIMIT_STACK, &l);
        SAY(l.rlim_cur); getrlimit(RLIMIT_CORE, &l); SAY(l.rlim_cur); SAY(l.rlim_max);""",
    ),
    Kind(
        "next-program",
        """if (!getenv("NEXT")) {
            setenv("NEXT", "1", 1); nice(3); syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 6);
            cpu_set_t c; CPU_ZERO(&c); CPU_SET(sched_getcpu(), &c);
            sched_setaffinity(0, sizeof(c), &c);
            struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); l.rlim_cur = 100;
            setrlimit(RLIMIT_NOFILE, &l); prctl(PR_SET_PDEATHSIG, SIGUSR2);
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_SET_CHILD_SUBREAPER, 1);
            personality(ADDR_NO_RANDOMIZE); int f = open("/proc/self/oom_score_adj", O_WRONLY);
            write(f, "500", 3); close(f); eventfd(5, 0); int p[2]; pipe(p); write(p[1], "in", 2);
            open("/", O_RDONLY | O_CLOEXEC); f = open("input", O_RDWR | O_CREAT, 0600);
            write(f, "0123456789", 10); lseek(f, 4, SEEK_SET); dup2(f, 0); close(f);
            execl("/proc/self/exe", "next", NULL); }""",
        """uint64_t v; SAY(getpriority(PRIO_PROCESS, 0)); SAY(syscall(SYS_ioprio_get, 1, 0));
        cpu_set_t c; sched_getaffinity(0, sizeof(c), &c); SAY(CPU_COUNT(&c));
        struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); SAY(l.rlim_cur);
        int s = 0; prctl(PR_GET_PDEATHSIG, &s); SAY(s); prctl(PR_GET_CHILD_SUBREAPER, &s); SAY(s);
        SAY(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)); SAY(personality(0xffffffff));
        SAY(read(3, &v, 8)); SAY(v); SAY(got(4)); puts(text); SAY(fcntl(6, F_GETFD));
        SAY(got(0)); puts(text); s = open("/proc/self/oom_score_adj", O_RDONLY); got(s);
        puts(text);""",
    ),
    Kind("umask", "umask(027);", "SAY(umask(0));"),
    Kind(
        "directory",
        'mkdir("below", 0700); chdir("below"); if (symlink("../gate", "gate")) return 1;',
        'SAY(strcmp(strrchr(getcwd(text, sizeof(text)), 47), "/below")); unlink("gate");',
    ),
    Kind(
        "pending",
        """sigset_t s, p; sigemptyset(&s); sigaddset(&s, SIGUSR1); sigaddset(&s, SIGRTMIN + 2);
        sigprocmask(SIG_BLOCK, &s, NULL); raise(SIGUSR1);
        sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 41});
        sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 42});""",
        """siginfo_t i; struct timespec no = {0, 0}; SAY(sigpending(&p));
        SAY(sigismember(&p, SIGUSR1));
        SAY(sigtimedwait(&s, &i, &no)); SAY(i.si_pid == getpid());
        SAY(sigtimedwait(&s, &i, &no) == SIGRTMIN + 2); SAY(i.si_value.sival_int);
        SAY(sigtimedwait(&s, &i, &no) == SIGRTMIN + 2); SAY(i.si_value.sival_int);
        SAY_ERROR(sigtimedwait(&s, &i, &no));""",
    ),
    Kind(
        "process-numbers",
        "pid_t pid = getpid(), tid = gettid(); signal(SIGUSR1, hit);",
        """SAY(kill(pid, SIGUSR1)); SAY(hits); SAY(syscall(SYS_tgkill, pid, tid, SIGUSR1));
        SAY(hits); SAY(raise(SIGUSR1)); SAY(hits); SAY(kill(getpid(), SIGUSR1)); SAY(hits);""",
        "",
        "static volatile int hits; static void hit(int s) { hits += s == SIGUSR1; }",
    ),
    Kind(
        "threads",
        """pthread_t t; pthread_create(&t, NULL, run, NULL); pthread_setname_np(t, "worker");
        while (!begun) usleep(1000); pid_t was = tid;""",
        """asks = 1; pthread_kill(t, SIGUSR1); while (!answered) usleep(1000); puts(name);
        SAY(was == tid); SAY(pthread_kill(t, 0)); SAY(pthread_cancel(t)); void *r;
        SAY(pthread_join(t, &r));
        SAY(r == PTHREAD_CANCELED); SAY(cleaned);""",
        "",
        """static volatile int begun, cleaned, asks, answered; static volatile pid_t tid;
        static char name[17];
        static void clean(void *p) { cleaned = 1; }
        static void hit(int s) {}
        static void *run(void *p)
        {
            tid = gettid(); pthread_cleanup_push(clean, NULL); signal(SIGUSR1, hit); begun = 1;
            while (!asks) pause();
            prctl(PR_GET_NAME, name); tid = gettid(); answered = 1;
            for (;;) pause();
            pthread_cleanup_pop(0); return NULL;
        }""",
    ),
    Kind(
        "interrupted-thread",  # at once: the first thread is in no call
        """pthread_t t; signal(SIGUSR1, hit); pthread_create(&t, NULL, run, NULL);
        while (!tid) usleep(1000);
        do {
            sprintf(name, "/proc/self/task/%d/stat", tid); int f = open(name, O_RDONLY); got(f);
            close(f);
        } while (!strstr(text, ") S "));
        puts("there"); fflush(stdout); while (access("gate", F_OK)) {}
        pthread_kill(t, SIGUSR1); pthread_join(t, NULL);""",
        "SAY(woken);",
        "",
        """static volatile int tid, woken; static char name[64]; static void hit(int s) {}
        static void *run(void *p) { tid = gettid(); pause(); woken = 1; return NULL; }""",
    ),
    Kind(
        "robust-mutex",
        """pthread_mutexattr_t a; pthread_mutexattr_init(&a);
        pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST); pthread_mutex_init(&m, &a);
        pthread_t t; pthread_create(&t, NULL, run, NULL); while (!begun) usleep(1000);""",
        "ends = 1; pthread_join(t, NULL); SAY(pthread_mutex_lock(&m) == EOWNERDEAD);",
        "",
        """static pthread_mutex_t m; static volatile int begun, ends;
        static void *run(void *p)
        { pthread_mutex_lock(&m); begun = 1; while (!ends) usleep(1000); return NULL; }""",
    ),
    Kind(
        "positions",
        """int a = open("file", O_RDWR | O_CREAT, 0600); write(a, "0123456789", 10); int b = dup(a);
        lseek(a, 4, SEEK_SET); int r = open("file", O_RDONLY); lseek(r, 7, SEEK_SET);
        int p = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600); write(p, "first ", 6);""",
        """SAY(got(b)); puts(text); SAY(lseek(a, 0, SEEK_CUR)); SAY(got(r)); puts(text);
        lseek(p, 0, SEEK_SET); SAY(write(p, "second", 6)); SAY(lseek(p, 0, SEEK_END));
        SAY(fcntl(p, F_GETFL) & O_APPEND); pwrite(a, "X", 1, 0); lseek(r, 0, SEEK_SET);
        SAY(got(r)); puts(text);""",
    ),
    Kind(
        "shared-anonymous",
        """int *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        p[0] = 42; p[1024] = 43;""",
        """SAY(p[0]); SAY(p[1024]); fflush(stdout); if (!fork()) { p[0] = 7; _exit(0); }
        wait(NULL); SAY(p[0]);""",
    ),
    Kind(
        "file-mapped-shared",
        """int a = open("map", O_RDWR | O_CREAT, 0600); ftruncate(a, 4096);
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0); strcpy(p, "x");""",
        "puts(p);",
        "map",
    ),
    Kind(
        "directory-stream",
        """mkdir("d", 0700); int d = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        SAY(syscall(SYS_getdents64, d, text, 256) > 0);""",
        """SAY(syscall(SYS_getdents64, d, text, 256)); lseek(d, 0, SEEK_SET);
        SAY(syscall(SYS_getdents64, d, text, 256) > 0);
        SAY(mkdirat(d, "e", 0700)); SAY(fcntl(d, F_GETFD)); SAY_ERROR(access("d/e", F_OK));""",
    ),
    Kind(
        "path-only",
        'int d = open(".", O_PATH | O_DIRECTORY);',
        """SAY(fcntl(d, F_GETFL) == (O_PATH | O_DIRECTORY));
        SAY_ERROR(faccessat(d, "gate", F_OK, 0));""",
    ),
    Kind(
        "owner-of-signals",
        """int p[2]; pipe(p); fcntl(p[0], F_SETOWN, getpid()); fcntl(p[0], F_SETSIG, SIGUSR1);
        signal(SIGUSR1, SIG_IGN); fcntl(p[0], F_SETFL, O_ASYNC);""",
        """SAY(fcntl(p[0], F_GETOWN) == getpid()); SAY(fcntl(p[0], F_GETSIG));
        SAY(fcntl(p[0], F_GETFL) & O_ASYNC);""",
        "sends signals",
    ),
    Kind(
        "prctl",
        """prctl(PR_SET_NAME, "renamed"); prctl(PR_SET_PDEATHSIG, SIGUSR2);
        prctl(PR_SET_TIMERSLACK, 7777);""",
        """prctl(PR_GET_NAME, text); puts(text); int s = 0; prctl(PR_GET_PDEATHSIG, &s); SAY(s);
        SAY(prctl(PR_GET_TIMERSLACK));""",
    ),
    Kind(
        "memfd-mapped",
        """int m = memfd_create("mine", 0); ftruncate(m, 4096);
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, m, 0); strcpy(p, "x");""",
        "puts(p);",
        "mapped a file without a name",
    ),
    Kind(
        "pidfd",
        "int p = syscall(SYS_pidfd_open, getpid(), 0);",
        "SAY(p);",
        "pidfd",
    ),
    Kind(
        "signal-stack",
        """stack_t s = {.ss_sp = malloc(65536), .ss_size = 65536}; sigaltstack(&s, NULL);
        struct sigaction a = {.sa_handler = hit, .sa_flags = SA_ONSTACK};
        sigaction(SIGUSR1, &a, 0);""",
        """raise(SIGUSR1); SAY(at > (char *)s.ss_sp && at < (char *)s.ss_sp + 65536);""",
        "",
        "static char *at; static void hit(int s) { char c; at = &c; }",
    ),
]
