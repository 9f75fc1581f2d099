/* Each flag of clone(2) and clone3(2) alone and with each other one, and what clone3 is given besides.  Prints what came of each:
 * an error, or what child and parent see.  Left out is what rdb says that it does not do: memory, descriptors and handlers in
 * common, process numbers counted anew. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 65536, CODE = 7, SPACES = 6 };

static const char *const spaces[SPACES] = {"mnt", "uts", "ipc", "user", "net", "cgroup"};

struct seen {
	int handled, ignored, by_worker, by_main, told, space[SPACES];
};

static char stack[STACK] __attribute__((aligned(16)));
static struct seen before;
static int ends[2], main_pid, worker_pid, child_tid, is_thread;

/* The child goes on in child(), on its stack. */
long start(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);
__asm__(".text\nstart: mov %rdi, %rax; mov %rsi, %rdi; mov %rdx, %rsi; mov %rcx, %rdx; mov %r8, %r10; mov %r9, %r8\n"
	"syscall; test %rax, %rax; jz 1f; ret\n1: xor %ebp, %ebp; and $-16, %rsp; call child; hlt\n");

/* No word of libc's is touched: the thread pointer may be another's. */
static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = 8;
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return nr;
}

static int space_of(const char *name)
{
	char path[64] = "/proc/thread-self/ns/", *end = path + 21;
	struct stat st;
	while ((*end++ = *name++))
		;
	return call(SYS_stat, (long)path, (long)&st, 0, 0) ? -1 : (int)st.st_ino;
}

static void look(struct seen *s)
{
	uint64_t action[4];
	call(SYS_rt_sigaction, SIGUSR1, 0, (long)action, 8);
	s->handled = action[0] > 1;
	call(SYS_rt_sigaction, SIGUSR2, 0, (long)action, 8);
	s->ignored = action[0] == 1;
	s->by_worker = call(SYS_getppid, 0, 0, 0, 0) == worker_pid;
	s->by_main = call(SYS_getppid, 0, 0, 0, 0) == main_pid;
	s->told = child_tid == call(SYS_gettid, 0, 0, 0, 0);
	for (int i = 0; i < SPACES; i++)
		s->space[i] = space_of(spaces[i]);
}

__attribute__((used, noreturn)) void child(void)
{
	struct seen s;
	look(&s);
	call(SYS_chdir, (long)"/usr", 0, 0, 0);
	call(SYS_write, ends[1], (long)&s, sizeof(s), 0);
	for (;;)
		call(is_thread ? SYS_exit : SYS_exit_group, CODE, 0, 0, 0);
}

static void handler(int sig)
{
	(void)sig;
}

static void wait_for(pid_t pid, int pidfd, uint64_t flags)
{
	siginfo_t info;
	int status = 0;
	if (is_thread && pidfd >= 0) {
		struct pollfd p = {.fd = pidfd, .events = POLLIN};
		printf(" ended %d", poll(&p, 1, 10000));
	} else if (is_thread && flags & CLONE_CHILD_CLEARTID) {
		while (__atomic_load_n(&child_tid, __ATOMIC_ACQUIRE))
			sched_yield();
	}
	while (is_thread && (status = (int)syscall(SYS_tgkill, getpid(), pid, 0)) == 0)
		sched_yield();
	if (is_thread)
		return;
	memset(&info, 0, sizeof(info));
	if (pidfd >= 0)
		printf(" pidfd %d", waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOWAIT | __WALL));
	printf(" status %d", info.si_status);
	const pid_t plain = waitpid(pid, &status, 0); /* not one without SIGCHLD */
	if (plain != pid && waitpid(pid, &status, __WALL) == pid)
		printf(" clone's");
	printf(" exit %x", status);
}

static void made(const char *name, long rc, uint64_t flags, int parent_tid, int pidfd)
{
	char directory[PATH_MAX] = "";
	struct seen s;
	printf("%s %lx:", name, (unsigned long)flags);
	if (rc < 0) {
		printf(" %s\n", strerrorname_np(errno));
		return;
	}
	if (read(ends[0], &s, sizeof(s)) != sizeof(s))
		printf(" says nothing");
	wait_for((pid_t)rc, pidfd, flags);
	getcwd(directory, sizeof(directory));
	printf(" tid %d %s%s%s%s", parent_tid == rc, directory, s.handled ? " handled" : "", s.ignored ? " ignored" : "",
	       !s.told || flags & CLONE_NEWPID ? "" : " told");
	if (!(flags & CLONE_NEWPID))
		printf(" parent %d %d", s.by_worker, s.by_main);
	for (int i = 0; i < SPACES; i++)
		printf("%s%s", s.space[i] != before.space[i] ? " " : "", s.space[i] != before.space[i] ? spaces[i] : "");
	printf("\n");
	if (pidfd >= 0)
		close(pidfd);
	chdir("/");
}

static void make(int three, uint64_t flags)
{
	const uint64_t tls = (uint64_t)__builtin_thread_pointer();
	int parent_tid = -1, pidfd = -1;
	long rc;
	fflush(stdout);
	child_tid = 0;
	is_thread = !!(flags & CLONE_THREAD);
	if (three) {
		struct clone_args args = {.flags = flags,
					  .stack = (uint64_t)stack,
					  .stack_size = STACK,
					  .pidfd = (uint64_t)&pidfd,
					  .parent_tid = (uint64_t)&parent_tid,
					  .child_tid = (uint64_t)&child_tid,
					  .tls = tls,
					  .exit_signal = flags & (CLONE_THREAD | CLONE_PARENT) ? 0 : SIGCHLD};
		rc = start(SYS_clone3, (uint64_t)&args, sizeof(args), 0, 0, 0);
	} else {
		rc = start(SYS_clone, flags | SIGCHLD, (uint64_t)(stack + STACK),
			   (uint64_t)(flags & CLONE_PIDFD ? &pidfd : &parent_tid), (uint64_t)&child_tid, tls);
	}
	errno = (int)-rc;
	made(three ? "clone3" : "clone", rc, flags, parent_tid, pidfd);
}

static void pairs(int three)
{
	uint64_t flags[40] = {0};
	int n = 1;
	for (int bit = 8; bit < 32; bit++)
		flags[n++] = 1ul << bit;
	if (three) {
		flags[n++] = CLONE_NEWTIME;
		flags[n++] = CLONE_CLEAR_SIGHAND;
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i || !j; j++)
			make(three, flags[i] | flags[j]);
	for (int i = 0; i < n; i++)
		make(three, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FILES | CLONE_SYSVSEM | flags[i]);
}

static void other(const char *name, struct clone_args args, size_t size, int beyond)
{
	char room[8192] __attribute__((aligned(8))) = {0};
	memcpy(room, &args, sizeof(args));
	if (beyond)
		room[size - 1] = 1;
	fflush(stdout);
	is_thread = 0;
	const long rc = syscall(SYS_clone3, room, size);
	if (!rc)
		child();
	made(name, rc, args.flags, -1, -1);
}

static void others(void)
{
	const size_t sizes[] = {0, 1, 63, 64, 65, 72, 80, 87, 88, 89, 96, 200, 4096, 4097, 8192};
	const struct clone_args plain = {.exit_signal = SIGCHLD};
	struct clone_args args;
	int tids[2] = {1, 1};
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		other("size", plain, sizes[i], 0);
		if (sizes[i] > sizeof(args))
			other("beyond", plain, sizes[i], 1);
	}
	for (int bit = 0; bit < 64; bit = bit == 7 ? 33 : bit + 1)
		other("bit", (args = plain, args.flags = 1ul << bit, args.cgroup = 1000, args), sizeof(args), 0);
	for (int sig = 0; sig < 260; sig++)
		if (sig < 3 || sig > 253 || (sig > 62 && sig < 67))
			other("signal", (args = plain, args.exit_signal = (uint64_t)sig, args), sizeof(args), 0);
	other("stack", (args = plain, args.stack = 4096, args), sizeof(args), 0);
	other("stack_size", (args = plain, args.stack_size = 4096, args), sizeof(args), 0);
	other("stack", (args = plain, args.stack = 1ul << 62, args.stack_size = 4096, args), sizeof(args), 0);
	other("set_tid", (args = plain, args.set_tid_size = 1, args), sizeof(args), 0);
	other("set_tid", (args = plain, args.set_tid = (uint64_t)tids, args), sizeof(args), 0);
	other("set_tid", (args = plain, args.set_tid = 8, args.set_tid_size = 1, args), sizeof(args), 0);
	for (size_t n = 1; n < 34; n += 8)
		other("set_tid", (args = plain, args.set_tid = (uint64_t)tids, args.set_tid_size = n, args), sizeof(args), 0);
	for (tids[0] = 30000; kill(tids[0], 0) == 0; tids[0]--)
		; /* free, and below the smallest pid_max */
	other("set_tid", (args = plain, args.set_tid = (uint64_t)tids, args.set_tid_size = 1, args), sizeof(args), 0);
	fflush(stdout);
	const long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		_exit(0);
	printf("asked for, got: %d\n", pid == tids[0] || (pid < 0 && errno == EPERM));
	waitpid((pid_t)pid, NULL, 0);
	for (uint64_t cgroup = INT_MAX; cgroup < INT_MAX + 2ul; cgroup++)
		for (size_t size = CLONE_ARGS_SIZE_VER0; size <= CLONE_ARGS_SIZE_VER2; size += 8)
			other("cgroup", (args = plain, args.flags = CLONE_INTO_CGROUP, args.cgroup = cgroup, args), size, 0);
	const long bad = syscall(SYS_clone3, NULL, sizeof(args));
	printf("nowhere: %ld %s\n", bad, strerrorname_np(errno));
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};
	sigset_t all;
	int status = 0;
	main_pid = getpid();
	pipe(ends);
	chdir("/");
	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGUSR2, SIG_IGN);
	const pid_t worker = fork();
	if (!worker) {
		worker_pid = getpid();
		look(&before);
		pairs(0);
		pairs(1);
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL); /* the children send it some */
		others();
		return 0;
	}
	waitpid(worker, &status, 0);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	printf("worker %x\n", status);
	return 0;
}
