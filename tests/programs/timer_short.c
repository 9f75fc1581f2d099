/* Timers that go off faster than a program can take their signals, while these are blocked and while they are not: there is time
 * for the program all the same.  And what a timer has sent before it is set anew or deleted. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int calls;

static void handler(int sig)
{
	(void)sig;
	calls++;
}

static timer_t make(int sig, int thread)
{
	struct sigevent event = {.sigev_notify = thread ? SIGEV_THREAD_ID : SIGEV_SIGNAL, .sigev_signo = sig};
	timer_t timer = NULL;
	event._sigev_un._tid = (int)syscall(SYS_gettid);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	return timer;
}

static void compute(void)
{
	for (volatile int i = 0; i < 30000000; i++)
		if (i % 1000000 == 0)
			getppid();
}

static void fast(int sig, int thread, long blocked_ns, long open_ns)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, handler);
	for (int blocked = 1; blocked >= 0; blocked--) {
		const long ns = blocked ? blocked_ns : open_ns;
		const struct itimerspec every = {{0, ns}, {0, ns}}, none = {{0, 0}, {0, 0}};
		const struct itimerval each = {{0, ns / 1000}, {0, ns / 1000}}, never = {{0, 0}, {0, 0}};
		timer_t timer = NULL;
		calls = 0;
		sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
		if (thread < 0) {
			setitimer(ITIMER_REAL, &each, NULL);
		} else {
			timer = make(sig, thread);
			timer_settime(timer, 0, &every, NULL);
		}
		compute();
		if (thread < 0) {
			setitimer(ITIMER_REAL, &never, NULL);
		} else {
			timer_settime(timer, 0, &none, NULL);
			timer_delete(timer);
		}
		if (blocked)
			sigprocmask(SIG_UNBLOCK, &set, NULL);
		printf("fast %d %d %s: %s\n", sig, thread, blocked ? "blocked" : "open",
		       !calls ? "none" : calls == 1 ? "one" : "many");
		fflush(stdout);
	}
}

static void sent(int sig, int thread, int how)
{
	static const char *const names[] = {"stopped", "set anew", "deleted", "left"};
	const struct itimerspec soon = {{0, 0}, {0, 1000}}, later = {{0, 0}, {1000, 0}}, none = {{0, 0}, {0, 0}};
	const struct timespec now = {0, 0};
	sigset_t set, pending;
	siginfo_t info;
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	timer_t timer = make(sig, thread);
	timer_settime(timer, 0, &soon, NULL);
	do
		sigpending(&pending);
	while (!sigismember(&pending, sig));
	if (how == 2)
		timer_delete(timer);
	else if (how < 2)
		timer_settime(timer, 0, how ? &later : &none, NULL);
	printf("%s %d %d: %d", names[how], sig, thread, sigtimedwait(&set, &info, &now) == sig);
	sigpending(&pending);
	printf(" %d %d\n", sigismember(&pending, sig), how == 2 ? 0 : timer_getoverrun(timer));
	if (how != 2)
		timer_delete(timer);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void first_is_kept(void)
{
	const struct timespec now = {0, 0};
	sigset_t set;
	siginfo_t info;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 1; i < 4; i++) { /* of those that are not real-time one waits */
		const union sigval value = {.sival_int = i};
		sigqueue(getpid(), SIGUSR2, value);
	}
	while (sigtimedwait(&set, &info, &now) == SIGUSR2)
		printf("kept %d\n", info.si_value.sival_int);
}

int main(void)
{
	fast(SIGALRM, -1, 1000, 100000);
	for (int thread = 0; thread < 2; thread++) {
		fast(SIGALRM, thread, 1000, 100000);
		fast(SIGRTMIN + 1, thread, 1000, 100000);
	}
	for (int thread = 0; thread < 2; thread++)
		for (int how = 0; how < 4; how++) {
			sent(SIGUSR1, thread, how);
			sent(SIGRTMIN + 2, thread, how);
		}
	first_is_kept();
	return 0;
}
