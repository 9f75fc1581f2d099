/* Signals that have handlers, each at a known place: a debugger stops before the handlers. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int handled, last, value, nested, lines;
static volatile sig_atomic_t met;

static void on_signal(int sig)
{
	handled++; /* @handler */
	last = sig;
}

static void on_value(int sig, siginfo_t *info, void *context)
{
	value = info->si_value.sival_int; /* @valued */
	handled++;
	last = sig;
}

static void on_nested(int sig)
{
	last = sig; /* @outer */
	if (nested++ < 2)
		raise(sig); /* @again */
	handled++;          /* @inner */
}

static void set(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};
	sigaction(sig, &sa, NULL);
}

static void *thread_main(void *unused)
{
	raise(SIGUSR1); /* @thread */
	return unused;
}

static void pair(void)
{
	sigset_t both, before;
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, &before);
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL); /* @both */
	lines++;                                 /* @after-both */
}

static void wait_for(int count)
{
	while (handled < count) /* @wait */
		;
}

int main(void)
{
	static char other[65536];
	const stack_t alternate = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction valued = {.sa_sigaction = on_value, .sa_flags = SA_SIGINFO};
	pthread_t thread;

	set(SIGUSR1, on_signal, 0);
	set(SIGUSR2, on_signal, SA_ONSTACK);
	set(SIGTERM, on_nested, SA_NODEFER);
	set(SIGALRM, on_signal, 0);
	set(SIGCHLD, on_signal, SA_RESTART);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGRTMIN + 3, &valued, NULL);
	sigaltstack(&alternate, NULL);

	raise(SIGUSR1);                                                    /* @first */
	lines++;                                                           /* @after-first */
	kill(getpid(), SIGUSR2);                                           /* @second */
	lines++;                                                           /* @after-second */
	sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 42}); /* @queued */
	lines++;                                                           /* @after-queued */
	raise(SIGTERM);                                                    /* @nesting */
	lines++;                                                           /* @after-nesting */
	pair();                                                            /* @pair */
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL); /* @join */
	lines++;                    /* @after-join */
	pid_t child = fork();       /* @fork */
	if (!child)
		_exit(0);
	while (waitpid(child, NULL, 0) < 0)
		;
	lines++; /* @after-fork */
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 20000}}, NULL);
	wait_for(handled + 1); /* @timer */
	lines++;               /* @after-timer */
	raise(SIGUSR1);        /* @end */
	printf("%d\n", handled);
	return 0;
}
