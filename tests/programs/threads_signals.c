/* Two threads look at the clock all the time while a timer's signals come: nothing may be lost. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

enum { THREADS = 2, SIGNALS = 5, LOOKS = 5000 };

static volatile sig_atomic_t signals;
static long looks[THREADS];

static void on_alarm(int sig)
{
	(void)sig;
	signals++;
}

static void *look(void *arg)
{
	struct timespec before = {0}, now;
	long *mine = arg;
	while (signals < SIGNALS || *mine < LOOKS) {
		if (clock_gettime(CLOCK_MONOTONIC, &now))
			return "failed";
		if (now.tv_sec < before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec < before.tv_nsec))
			return "went back";
		before = now;
		++*mine;
	}
	return NULL;
}

int main(void)
{
	const struct itimerval every = {{0, 300}, {0, 300}};
	const struct itimerval never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	pthread_t threads[THREADS];
	void *wrong, *any = NULL;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, look, &looks[i]))
			return 2;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		any = wrong ? wrong : any;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	puts(any ? (char *)any : "fine");
	return any != NULL;
}
