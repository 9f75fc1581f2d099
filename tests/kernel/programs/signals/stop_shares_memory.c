/* signal(7), mmap(2): processes that share memory with one that is stopped run on. */
#include "../observe.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile int *turns;

static void stopped(pid_t child, int sig)
{
	int status;

	MUST(waitpid(child, &status, WUNTRACED) == child);
	printf("stopped %d by %d, turns %d\n", WIFSTOPPED(status), WSTOPSIG(status) == sig, turns[0]);
	MUST(!kill(child, SIGCONT));
}

static void queue(int sig)
{
	MUST(!sigqueue(getpid(), sig, (union sigval){0}));
}

static void by_kill(int sig)
{
	MUST(!kill(getpid(), sig));
}

static void by_group(int sig)
{
	MUST(!kill(0, sig));
}

static void by_tkill(int sig)
{
	MUST(!syscall(SYS_tkill, gettid(), sig));
}

static void by_raise(int sig)
{
	MUST(!raise(sig));
}

int main(void)
{
	static void (*const ways[])(int) = {by_kill, by_group, by_tkill, by_raise, queue};
	enum { WAYS = sizeof(ways) / sizeof(ways[0]) };
	int status;
	pid_t child;

	turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(turns != MAP_FAILED);
	fflush(stdout);
	MUST((child = fork()) >= 0);
	if (!child) { /* by itself */
		MUST(!setpgid(0, 0));
		for (int i = 0; i < WAYS; i++) {
			turns[0]++;
			ways[i](SIGSTOP);
		}
		_exit(0);
	}
	for (int i = 0; i < WAYS; i++)
		stopped(child, SIGSTOP);
	MUST(waitpid(child, &status, 0) == child);
	SAY(status);
	turns[0] = 0;
	MUST((child = fork()) >= 0);
	if (!child) /* by its parent, while it computes */
		for (;;)
			turns[1]++;
	for (int i = 0; i < 20; i++) {
		for (int seen = turns[1]; turns[1] == seen;)
			;
		MUST(!kill(child, SIGSTOP));
		turns[0]++;
		stopped(child, SIGSTOP);
	}
	MUST(!kill(child, SIGKILL));
	MUST(waitpid(child, &status, 0) == child);
	SAY(WTERMSIG(status));
	return 0;
}
