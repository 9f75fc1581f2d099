/* Two threads hand a turn to each other by looking at memory, before a fork, in the child and in the parent after it,
 * while a timer's signal comes again and again; the timer counts processor time, so that a loaded machine does not leave
 * the program less of it between two signals.  argv: steps.  Prints the child's exit status. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORK = 300, EVERY_US = 10000, STATUS = 3 };

static atomic_int turn;
static volatile int alarms;
static int steps;

static void on_alarm(int sig)
{
	alarms++;
}

static void *other(void *unused)
{
	for (int i = 0; i < steps; i++) {
		while (atomic_load(&turn) != 1)
			__builtin_ia32_pause();
		for (volatile int k = 0; k < WORK; k++)
			;
		atomic_store(&turn, 0);
	}
	return unused;
}

static void play(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, other, NULL))
		_exit(1);
	for (int i = 0; i < steps; i++) {
		atomic_store(&turn, 1);
		while (atomic_load(&turn) != 0)
			__builtin_ia32_pause();
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const struct itimerval every = {.it_interval.tv_usec = EVERY_US, .it_value.tv_usec = EVERY_US};
	int status;
	steps = argc > 1 ? atoi(argv[1]) : 1;
	signal(SIGPROF, on_alarm);
	setitimer(ITIMER_PROF, &every, NULL);
	play();
	const pid_t child = fork();
	if (!child) {
		play();
		_exit(STATUS);
	}
	play();
	while (waitpid(child, &status, 0) != child)
		;
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
