/* Real-time signals that come to several threads at the same time: all are kept. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SENDERS = 2, THREADS = 3, EACH = 3000, LONGEST_S = 120 };

static int came;
static volatile int over;

static void on_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(&came, 1, __ATOMIC_RELAXED);
}

static void *computes(void *arg)
{
	while (!over)
		getppid();
	return arg;
}

int main(void)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	pthread_t t[THREADS];
	signal(SIGRTMIN, on_signal);
	for (int i = 0; i < SENDERS; i++)
		if (!fork()) {
			for (int k = 0; k < EACH; k++)
				while (sigqueue(getppid(), SIGRTMIN, (union sigval){.sival_int = k}))
					if (errno != EAGAIN)
						_exit(1);
					else
						sched_yield();
			_exit(0);
		}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, computes, NULL);
	for (int i = 0; i < SENDERS; i++)
		while (wait(NULL) < 0)
			;
	const time_t until = time(NULL) + LONGEST_S;
	while (__atomic_load_n(&came, __ATOMIC_RELAXED) < SENDERS * EACH && time(NULL) < until)
		nanosleep(&nap, NULL);
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d of %d\n", came, SENDERS * EACH);
	return 0;
}
