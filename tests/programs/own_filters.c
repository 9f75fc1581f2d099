/* Filters for system calls that a program sets itself (seccomp(2)). */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static long answer(long rc)
{
	return rc < 0 ? -errno : rc;
}

static long set(unsigned flags, struct sock_filter *code, unsigned n)
{
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
	return answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

/* What is to come of one call; all others are allowed. */
static long filter(unsigned nr, unsigned ret, unsigned flags)
{
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, ret),
				     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	return set(flags, code, 4);
}

static void status(void)
{
	char line[256];
	FILE *f = fopen("/proc/thread-self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Seccomp", 7) || !strncmp(line, "NoNewPrivs", 10))
			printf("%s", line);
	if (f)
		fclose(f);
}

static volatile long trapped;

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	trapped++;
	if (sig != SIGSYS || info->si_code != 1 /* SYS_SECCOMP */ || info->si_call_addr != (void *)r[REG_RIP] ||
	    r[REG_RAX] != info->si_syscall)
		_exit(9);
	r[REG_RAX] = 1000 + info->si_errno;
}

static void child(void (*fn)(void))
{
	int how;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		fn();
		fflush(stdout);
		_exit(3);
	}
	waitpid(pid, &how, 0);
	printf("ended %x\n", (unsigned)how & ~0x80u);
}

static void *calls(void *unused)
{
	printf("thread: %ld\n", answer(syscall(SYS_getppid)));
	fflush(stdout);
	syscall(SYS_getpgid, 0);
	puts("not reached");
	return unused;
}

static void in_a_thread(void)
{
	pthread_t t;
	pthread_create(&t, NULL, calls, NULL);
	pthread_join(t, NULL);
}

static void kills(void)
{
	printf("%ld\n", filter(SYS_getsid, SECCOMP_RET_KILL_PROCESS | 5, 0));
	fflush(stdout);
	syscall(SYS_getsid, 0);
}

static void unknown_action(void)
{
	printf("%ld\n", filter(SYS_getpriority, 0x12340000, 0));
	fflush(stdout);
	syscall(SYS_getpriority, 0, 0);
}

static void kills_the_only_thread(void)
{
	syscall(SYS_getpgid, 0);
}

static void blocked(void)
{
	sigset_t all;
	sigfillset(&all);
	filter(SYS_getsid, SECCOMP_RET_TRAP, 0);
	sigprocmask(SIG_BLOCK, &all, NULL);
	syscall(SYS_getsid, 0);
}

/* Each is asked before the first filter. */
static void errors(void)
{
	struct sock_filter ret = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog none = {1, NULL}, away = {1, (void *)16}, empty = {0, &ret}, long_one = {4097, &ret};
	unsigned actions[] = {SECCOMP_RET_TRAP, 0x12340000};
	printf("%ld %ld %ld\n", answer(syscall(SYS_seccomp, 77, 0, 0)),
	       answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1 << 20, 0)),
	       answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0)));
	printf("%ld %ld %ld %ld\n", answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none)),
	       answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &away)),
	       answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &empty)),
	       answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &long_one)));
	printf("%ld %ld %ld %ld\n", answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, &none)),
	       answer(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[0])),
	       answer(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[1])),
	       answer(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 1, &actions[0])));
	printf("%ld %ld %ld\n", answer(prctl(PR_SET_SECCOMP, 0)), answer(prctl(PR_SET_SECCOMP, 7)),
	       answer(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0)));
}

static void strict(void)
{
	char ok[] = "strict\n";
	printf("%ld\n", answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0)));
	fflush(stdout);
	if (write(1, ok, 7) == 7)
		syscall(SYS_getpid);
}

static int ways(void)
{
	errors();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	child(strict);
	printf("%ld\n", filter(SYS_getppid, SECCOMP_RET_ERRNO | 77, 0));
	printf("%ld %d\n", answer(syscall(SYS_getppid)), prctl(PR_GET_SECCOMP));
	printf("%ld\n", filter(SYS_getsid, SECCOMP_RET_TRAP | 55, 0));
	printf("%ld\n", syscall(SYS_getsid, 0));
	printf("%ld trapped\n", trapped);
	/* the most severe prevails, among equals the newest */
	filter(SYS_getppid, SECCOMP_RET_LOG, 0);
	printf("%ld\n", answer(syscall(SYS_getppid)));
	filter(SYS_getppid, SECCOMP_RET_ERRNO | 5000, 0);
	printf("%ld\n", answer(syscall(SYS_getppid)));
	filter(SYS_umask, SECCOMP_RET_ERRNO, 0);
	filter(SYS_sysinfo, SECCOMP_RET_TRACE | 3, 0);
	filter(SYS_mmap, SECCOMP_RET_ERRNO | ENOMEM, 0);
	printf("%ld %ld %ld\n", answer(syscall(SYS_umask, 0)), answer(syscall(SYS_sysinfo, 0)),
	       answer(syscall(SYS_mmap, 0, 4096, 3, 0x22, -1, 0)));
	filter(SYS_getpgid, SECCOMP_RET_KILL_THREAD, 0);
	printf("%ld\n", answer(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0)));
	child(kills);
	child(unknown_action);
	child(kills_the_only_thread);
	child(blocked);
	status();
	return 0;
}

static int go;

static void *waits(void *unused)
{
	while (!__atomic_load_n(&go, __ATOMIC_SEQ_CST))
		usleep(500);
	printf("other: %ld, %d\n", answer(syscall(SYS_getppid)), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	status();
	return unused;
}

static void *apart(void *unused)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("apart: %ld\n", filter(SYS_getppid, SECCOMP_RET_ERRNO | 1, 0));
	__atomic_store_n(&go, 2, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&go, __ATOMIC_SEQ_CST) == 2)
		usleep(500);
	return unused;
}

static int threads(char *self)
{
	pthread_t t;
	pthread_create(&t, NULL, waits, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("%ld\n", filter(SYS_getppid, SECCOMP_RET_ERRNO | 77, SECCOMP_FILTER_FLAG_TSYNC));
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, apart, NULL);
	while (__atomic_load_n(&go, __ATOMIC_SEQ_CST) != 2)
		usleep(500);
	const unsigned all = SECCOMP_FILTER_FLAG_TSYNC;
	printf("%d\n", filter(SYS_getsid, SECCOMP_RET_ERRNO, all) > 0);
	printf("%ld\n", filter(SYS_getsid, SECCOMP_RET_ERRNO, all | SECCOMP_FILTER_FLAG_TSYNC_ESRCH));
	__atomic_store_n(&go, 3, __ATOMIC_SEQ_CST);
	pthread_join(t, NULL);
	printf("%ld\n", filter(SYS_getpgid, SECCOMP_RET_KILL_THREAD, 0));
	in_a_thread();
	fflush(stdout);
	execl(self, self, "executed", NULL);
	return 1;
}

/* A filter before each event. */
static int rounds(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	filter(SYS_getsid, SECCOMP_RET_TRAP | 5, 0);
	for (int i = 0; i < 20; i++) {
		filter(SYS_getppid, (unsigned)(SECCOMP_RET_ERRNO | i), 0);
		printf("%ld %ld\n", answer(syscall(SYS_getppid)), syscall(SYS_getsid, 0));
		fflush(stdout);
	}
	return 0;
}

/* ---- generated ---- */

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (uint32_t)(state >> 33) % n;
}

static const uint16_t codes[] = {0x20, 0x20, 0x20, 0x80, 0x81, 0x00, 0x01, 0x60, 0x61, 0x02, 0x03, 0x05, 0x15, 0x1d, 0x25,
				 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c,
				 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c, 0x84, 0xa4, 0xac, 0x06, 0x07, 0x87};
static const uint16_t refused[] = {0x94, 0x9c, 0x28, 0x30, 0x40, 0x8c, 0x0e, 0xb1, 0x62, 0x0b, 0x55, 0x0d, 0x27, 0x100};
static const uint32_t returns[] = {0x7fff0000, 0x00050000, 0x0005000c, 0x7ffc0000, 0x00051fff, 0x7ff00005, 0x00030000};

static struct sock_filter one(unsigned left)
{
	const unsigned jumps = left > 2 ? left - 1 : 1;
	struct sock_filter f = {.code = below(60) ? codes[below(sizeof(codes) / 2)] : refused[below(sizeof(refused) / 2)],
				.jt = (uint8_t)(below(40) ? below(jumps) : below(256)),
				.jf = (uint8_t)(below(40) ? below(jumps) : below(256)),
				.k = below(1u << 31) << below(16)};
	if (f.code == 0x20)
		f.k = below(30) ? 4 * below(16) : below(70);
	else if (f.code == 0x02 || f.code == 0x03 || f.code == 0x60 || f.code == 0x61)
		f.k = below(30) ? below(3) : below(20);
	else if (f.code == 0x64 || f.code == 0x74)
		f.k = below(40);
	else if (f.code == 0x05)
		f.k = below(jumps);
	else if (f.code == 0x06)
		f.k = returns[below(sizeof(returns) / sizeof(*returns))] | (below(3) ? 0 : below(4096));
	else if (f.code == 0x34)
		f.k = below(20);
	return f;
}

enum { TRIES = 8 };

static struct {
	long set, result[TRIES], trapped;
} seen;

/* What the thread itself needs is allowed. */
static void *tries(void *unused)
{
	static const unsigned needed[] = {SYS_write, SYS_futex, SYS_madvise, SYS_exit, SYS_munmap, SYS_rt_sigprocmask,
					  SYS_rt_sigreturn, SYS_exit_group};
	enum { NEEDED = sizeof(needed) / sizeof(*needed) };
	struct sock_filter code[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
	unsigned n = 1, own = 2 + below(22);
	for (unsigned i = 0; i < NEEDED; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, needed[i], (uint8_t)(NEEDED - i), 0);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 0);
	for (unsigned left = own; left > 1; left--)
		code[n++] = one(left);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, returns[below(2)] | below(200));
	seen.set = set(0, code, n);
	for (long i = 0; !seen.set && i < TRIES; i++) {
		trapped = 0;
		seen.result[i] = answer(syscall(SYS_close, 1000 + (long)below(3) * 0x123456789l + i, i, i << 33, i * i,
						77, -i));
		seen.trapped += trapped;
	}
	return unused;
}

static int generated(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (state = 1; state < 60; state++) {
		const uint64_t kept = state;
		pthread_t t;
		memset(&seen, 0, sizeof(seen));
		pthread_create(&t, NULL, tries, NULL);
		pthread_join(t, NULL);
		state = kept;
		printf("%lu: %ld, %ld trapped:", state, seen.set, seen.trapped);
		for (int i = 0; i < TRIES; i++)
			printf(" %ld", seen.result[i]);
		puts("");
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
	sigaction(SIGSYS, &sa, NULL);
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "ways"))
		return ways();
	if (!strcmp(argv[1], "threads"))
		return threads(argv[0]);
	if (!strcmp(argv[1], "rounds"))
		return rounds();
	if (!strcmp(argv[1], "generated"))
		return generated();
	printf("executed: %ld\n", answer(syscall(SYS_getppid)));
	status();
	in_a_thread();
	return 0;
}
