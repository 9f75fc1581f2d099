/* Threads look at the clock all the time (clock_storm threads), or one does while a timer's signals come
 * (clock_storm signals), or both: nothing may be lost. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { THREADS = 3, SIGNALS = 20, LOOKS = 20000 };

static volatile sig_atomic_t signals, wanted;
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
	while (signals < wanted || *mine < LOOKS) {
		if (clock_gettime(CLOCK_MONOTONIC, &now))
			return "failed";
		if (now.tv_sec < before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec < before.tv_nsec))
			return "went back";
		before = now;
		++*mine;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	pthread_t threads[THREADS];
	void *wrong, *any = NULL;
	const char *what = argc > 1 ? argv[1] : "both";
	if (strcmp(what, "threads")) {
		wanted = !strcmp(what, "both") ? SIGNALS / 4 : SIGNALS;
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	if (!strcmp(what, "signals")) {
		any = look(&looks[0]);
	} else {
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, look, &looks[i]))
				return 2;
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], &wrong);
			any = wrong ? wrong : any;
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	puts(any ? (char *)any : "fine");
	return any != NULL;
}
