/* Replaces itself N times: process_chain N.  Each says its number, what it kept, how many are left. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int counted;

static void count(int sig)
{
	counted += sig == SIGUSR1;
}

int main(int argc, char **argv)
{
	int left = atoi(argv[1]);
	char next[16];
	sigset_t mask, none;
	sigemptyset(&none);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("%s %d left, pid kept %d, usr1 blocked %d, usr2 ignored %d, KEPT=%s\n", argv[0], left,
	       getpid() == atoi(argc > 2 ? argv[2] : "0"), sigismember(&mask, SIGUSR1),
	       signal(SIGUSR2, SIG_IGN) == SIG_IGN, getenv("KEPT") ? getenv("KEPT") : "(none)");
	fflush(stdout);
	if (left == 0) {
		signal(SIGUSR1, count);
		sigprocmask(SIG_SETMASK, &none, NULL);
		printf("got %d signals that were pending\n", counted);
		return 9;
	}
	char pid[16];
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	if (left > 1)
		raise(SIGUSR1);
	setenv("KEPT", "over exec", 1);
	snprintf(next, sizeof(next), "%d", left - 1);
	snprintf(pid, sizeof(pid), "%d", getpid());
	execl("/proc/self/exe", "renamed", next, pid, (char *)NULL);
	return 1;
}
