/* Timers that expire while their signal is blocked: one signal waits, and says how often (timer_getoverrun(2)). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

static volatile int calls, overrun, asked;
static timer_t timer;

static void handler(int sig, siginfo_t *info, void *context)
{
	if (calls++)
		return;
	overrun = info->si_overrun;
	asked = timer_getoverrun(timer);
	(void)sig;
	(void)context;
}

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* `calls`: system calls while it waits, or none. */
static void try(const char *name, int sig, int thread, int with_calls)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct sigevent event = {.sigev_notify = thread ? SIGEV_THREAD_ID : SIGEV_SIGNAL, .sigev_signo = sig};
	struct itimerspec every = {{0, 200000}, {0, 200000}}, none;
	sigset_t set;
	event._sigev_un._tid = (int)syscall(SYS_gettid);
	memset(&none, 0, sizeof(none));
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigaction(sig, &action, NULL);
	calls = overrun = asked = 0;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return;
	const int at_first = timer_getoverrun(timer);
	sigprocmask(SIG_BLOCK, &set, NULL);
	const double begun = now();
	timer_settime(timer, 0, &every, NULL);
	while (now() < begun + 150)
		if (with_calls)
			getppid();
		else
			for (volatile int i = 0; i < 100000; i++)
				;
	const double took = now() - begun;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	timer_settime(timer, 0, &none, NULL);
	printf("%s %s, overrun %s, asked %s, at first %d\n", name, calls ? "told" : "not told",
	       overrun >= (int)(took / 0.2) - 5 ? "counted" : "lost", asked == overrun ? "the same" : "another",
	       at_first);
	timer_delete(timer);
}

int main(void)
{
	for (int with_calls = 0; with_calls < 2; with_calls++) {
		try("real-time", SIGRTMIN + 3, 0, with_calls);
		try("real-time to a thread", SIGRTMIN + 3, 1, with_calls);
		try("other", SIGALRM, 0, with_calls);
		try("other to a thread", SIGUSR1, 1, with_calls);
	}
	return 0;
}
