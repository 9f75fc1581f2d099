/* pthread_kill(3): signals between threads that compute and count, none of the real-time ones is lost. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>

enum { EACH = 40 };
static int count, sum;
static pthread_t threads[2];
static pthread_barrier_t barrier;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&sum, info->si_value.sival_int, __ATOMIC_SEQ_CST);
}

static void *runs(void *arg)
{
	long me = (long)arg;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < EACH; i++)
		MUST(!pthread_sigqueue(threads[!me], SIGRTMIN, (union sigval){.sival_int = i}));
	while (__atomic_load_n(&count, __ATOMIC_SEQ_CST) < 2 * EACH)
		;
	return NULL;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t set;

	MUST(!sigaction(SIGRTMIN, &action, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	MUST(!pthread_barrier_init(&barrier, NULL, 3));
	MUST(!pthread_create(&threads[0], NULL, runs, (void *)0) &&
	     !pthread_create(&threads[1], NULL, runs, (void *)1));
	pthread_barrier_wait(&barrier);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	MUST(!pthread_join(threads[0], NULL) && !pthread_join(threads[1], NULL));
	printf("count %d sum %d\n", count, sum);
	return 0;
}
