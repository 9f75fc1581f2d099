/* Threads: threads TURNS.  Prints the seconds of one hand-over between two threads (mutex and condition), and
 * of one lock and unlock of a mutex that four threads want. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long turns, token, counter;

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void *hand_over(void *arg)
{
	long mine = *(const long *)arg;
	pthread_mutex_lock(&mutex);
	while (token < turns) {
		if (token % 2 == mine) {
			token++;
			pthread_cond_signal(&changed);
		} else {
			pthread_cond_wait(&changed, &mutex);
		}
	}
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *count(void *arg)
{
	(void)arg;
	for (long i = 0; i < turns; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static double run(void *(*what)(void *), int n)
{
	pthread_t threads[THREADS];
	long numbers[THREADS];
	double start = now_s();
	for (int i = 0; i < n; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, what, &numbers[i]))
			exit(1);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return now_s() - start;
}

int main(int argc, char **argv)
{
	turns = argc > 1 ? atol(argv[1]) : 10000;
	printf("hand-over %.9e\n", run(hand_over, 2) / (double)turns);
	printf("mutex %.9e\n", run(count, THREADS) / (double)turns / THREADS);
	return counter != turns * THREADS;
}
