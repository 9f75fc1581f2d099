/* Signals for one thread and for the process, while the one, the other, both or neither block them: who gets which, in which way.
 * pthread_sigqueue(3), pthread_kill(3), sigqueue(3). */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int sigs[] = {SIGUSR1, SIGTERM, 34 + 2, 34 + 9};
static pthread_barrier_t step;
static pthread_t threads[2];
static __thread int me;
static char got[2][4096];

static void note(const char *how, const siginfo_t *i)
{
	size_t len = strlen(got[me]);
	snprintf(got[me] + len, sizeof(got[me]) - len, " %s %d/%d/%d", how, i->si_signo, i->si_code,
		 i->si_code == SI_QUEUE ? i->si_value.sival_int : 0);
}

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)sig, (void)uc;
	note("handler", info);
}

/* Rounds: bit 0 of `way`: the first thread blocks; bit 1: the second. */
static void rounds(void)
{
	for (unsigned n = 0; n < sizeof(sigs) / sizeof(*sigs); n++)
		for (int way = 0; way < 4; way++) {
			const struct timespec now = {0, 0};
			sigset_t set, pending;
			siginfo_t info;
			sigemptyset(&set);
			sigaddset(&set, sigs[n]);
			pthread_sigmask(way & (1 << me) ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
			pthread_barrier_wait(&step);
			if (me == 0)
				for (int k = 0; k < 3; k++) {
					pthread_sigqueue(threads[1], sigs[n], (union sigval){.sival_int = 10 + k});
					pthread_sigqueue(threads[0], sigs[n], (union sigval){.sival_int = 20 + k});
					pthread_kill(threads[1], sigs[n]);
					/* which of two that may is the kernel's choice */
					if (way == 1 || way == 2)
						sigqueue(getpid(), sigs[n], (union sigval){.sival_int = 30 + k});
				}
			pthread_barrier_wait(&step);
			sigpending(&pending);
			for (int i = 0; i < 200 && !*got[me] && !(way & (1 << me)); i++)
				usleep(1000); /* another's is delivered soon */
			pthread_barrier_wait(&step);
			const int waits = sigismember(&pending, sigs[n]);
			while (sigtimedwait(&set, &info, &now) > 0)
				note("taken", &info);
			pthread_barrier_wait(&step);
			if (me == 0)
				for (int t = 0; t < 2; t++) {
					/* of what a handler gets the order may be another one */
					printf("signal %d, blocked %d: thread %d waits %d:%s\n", sigs[n], way, t, t ? -1 : waits,
					       got[t]);
					got[t][0] = 0;
				}
			pthread_barrier_wait(&step);
		}
}

static void *second(void *arg)
{
	me = 1;
	rounds();
	return arg;
}

int main(void)
{
	struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigfillset(&a.sa_mask);
	for (unsigned n = 0; n < sizeof(sigs) / sizeof(*sigs); n++)
		sigaction(sigs[n], &a, NULL);
	pthread_barrier_init(&step, NULL, 2);
	threads[0] = pthread_self();
	pthread_create(&threads[1], NULL, second, NULL);
	rounds();
	return pthread_join(threads[1], NULL);
}
