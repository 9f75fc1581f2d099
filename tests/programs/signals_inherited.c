/* signals_inherited IGNORED BLOCKED PROGRAM...: executes it with these signals (masks in hexadecimal) so.
 * signals_inherited say [AGAIN]: what a program has begun with, what becomes of signals that it sends itself then, and what a
 * program that it executes has begun with.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(sig) (1ul << ((sig)-1))

struct action {
	uint64_t handler, flags, restorer, mask;
};

static uint64_t got;
static unsigned count;

static void on_signal(int sig)
{
	got |= BIT(sig);
	count++;
}

static uint64_t ignored(void)
{
	uint64_t all = 0;
	for (int sig = 1; sig <= 64; sig++) {
		struct action a;
		if (!syscall(SYS_rt_sigaction, sig, NULL, &a, 8) && a.handler)
			all |= BIT(sig);
	}
	return all;
}

static uint64_t blocked(void)
{
	uint64_t mask = 0;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
	return mask;
}

static uint64_t pending(void)
{
	uint64_t mask = 0;
	syscall(SYS_rt_sigpending, &mask, 8);
	return mask;
}

static void status(void)
{
	static const char *const files[] = {"/proc/self/status", "/proc/thread-self/status", NULL};
	char own[64], line[256];
	snprintf(own, sizeof(own), "/proc/self/task/%d/status", getpid());
	for (int i = 0; i < 3; i++) {
		FILE *f = fopen(files[i] ? files[i] : own, "r");
		while (f && fgets(line, sizeof(line), f))
			if (!strncmp(line, "Sig", 3) || !strncmp(line, "Shd", 3) || !strncmp(line, "Threads", 7))
				if (strncmp(line, "SigQ", 4))
					fputs(line, stdout);
		if (f)
			fclose(f);
	}
}

static int say(char **argv)
{
	printf("ignored %016lx blocked %016lx pending %016lx\n", ignored(), blocked(), pending());
	status();
	for (int sig = 1; sig <= 64; sig++)
		if (!argv[2] && sig != SIGKILL && sig != SIGSTOP && (ignored() | blocked()) & BIT(sig) && sig != 32 &&
		    sig != 33)
			kill(getpid(), sig);
	printf("pending %016lx\n", pending());
	fflush(stdout);
	if (!argv[2])
		execl(argv[0], argv[0], "say", "again", NULL);
	for (int sig = 1; sig <= 64; sig++)
		signal(sig, on_signal);
	status();
	const uint64_t none = 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
	printf("got %016lx %u\n", got, count);
	status();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return say(argv);
	const struct action ignore = {.handler = 1}, usual = {0};
	const uint64_t ignored = strtoul(argv[1], NULL, 16), blocked = strtoul(argv[2], NULL, 16);
	for (int sig = 1; sig <= 64; sig++)
		if (sig == 32 || sig == 33) /* libc's own: its posix_spawn, as make uses it, leaves them ignored */
			syscall(SYS_rt_sigaction, sig, &usual, NULL, 8);
		else if (ignored & BIT(sig))
			syscall(SYS_rt_sigaction, sig, &ignore, NULL, 8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, 8);
	execv(argv[3], argv + 3);
	return 127;
}
