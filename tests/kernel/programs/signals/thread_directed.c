/* signal(7): a signal to a thread waits for that thread; one to the process goes to any that does not block it. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

static pthread_barrier_t barrier;
static pthread_t thread;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("handler %d code %d in the other %d\n", sig, info->si_code, pthread_equal(pthread_self(), thread) != 0);
}

static void *other(void *arg)
{
	sigset_t set, pending;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	sigpending(&pending);
	printf("other sees %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
	SAY(sigtimedwait(&set, &info, &(struct timespec){0, 0}));
	printf("value %d\n", info.si_value.sival_int);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t set, pending;

	MUST(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_barrier_init(&barrier, NULL, 2);
	MUST(!pthread_create(&thread, NULL, other, NULL));
	pthread_barrier_wait(&barrier);
	SAY(pthread_sigqueue(thread, SIGUSR1, (union sigval){.sival_int = 33}));
	SAY(kill(getpid(), SIGUSR2));
	sigpending(&pending);
	printf("first sees %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
	SAY(sigtimedwait(&set, NULL, &(struct timespec){0, 0}));
	SAY(kill(getpid(), SIGUSR2));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	MUST(!kill(getpid(), SIGUSR1));
	pthread_barrier_wait(&barrier);
	MUST(!pthread_join(thread, NULL));
	return 0;
}
