/* sem_overview(7): a semaphore counts what several threads make and take; sem_wait is interrupted by a handler. */
#include "../observe.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

static sem_t full, empty, never;
static int ring[4], taken;

static void handler(int sig)
{
	(void)sig;
}

static void *makes(void *arg)
{
	for (int i = 1; i <= 50; i++) {
		while (sem_wait(&empty))
			;
		ring[i % 4] = i;
		sem_post(&full);
	}
	return arg;
}

int main(void)
{
	struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}};
	struct sigaction action = {.sa_handler = handler};
	pthread_t thread;

	MUST(!sem_init(&full, 0, 0) && !sem_init(&empty, 0, 4) && !sem_init(&never, 0, 0));
	MUST(!pthread_create(&thread, NULL, makes, NULL));
	for (int i = 1; i <= 50; i++) {
		while (sem_wait(&full))
			;
		taken += ring[i % 4];
		sem_post(&empty);
	}
	MUST(!pthread_join(thread, NULL));
	printf("taken %d\n", taken);
	MUST(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	SAY(sem_wait(&never));
	return 0;
}
