/* Threads in all that threads do: computing, in a barrier, in locks and conditions, in calls that wait; and OpenMP's.
 * Half-way a wait for a file that a test makes: argv: steps, gate. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TEAM = 3, PART = 100000 };

static int steps;
static const char *gate;
static pthread_barrier_t all;
static pthread_mutex_t owned, plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static sem_t posted;
static int ends[2], woken, ended, turns;
static uint64_t sums[TEAM];
static volatile int spun;
static __thread uint64_t own = 1;

static uint64_t compute(uint64_t sum, int n)
{
	for (int k = 0; k < n; k++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	return sum;
}

static void *works(void *arg)
{
	const long self = (long)arg;

	for (int i = 0; i < steps; i++) {
		own = compute(own + self, PART);
		pthread_mutex_lock(&owned);
		pthread_mutex_lock(&owned); /* recursive: its owner is a thread's number */
		sums[self] ^= own;
		pthread_mutex_unlock(&owned);
		pthread_mutex_unlock(&owned);
		if (i == steps / 2 && self == 1) /* makes no events at all */
			while (!spun)
				;
		pthread_barrier_wait(&all);
	}
	return (void *)own;
}

static void ended_one(void)
{
	pthread_mutex_lock(&plain);
	ended++;
	pthread_mutex_unlock(&plain);
}

static void *waits_for_condition(void *arg)
{
	pthread_mutex_lock(&plain);
	while (!woken)
		pthread_cond_wait(&over, &plain);
	pthread_mutex_unlock(&plain);
	ended_one();
	return arg;
}

static void *reads(void *arg)
{
	char word[8] = "";

	if (read(ends[0], word, sizeof(word)) == 5 && !strcmp(word, "done"))
		ended_one();
	return arg;
}

static void *waits_for_semaphore(void *arg)
{
	if (!sem_wait(&posted)) /* EINTR would be told */
		ended_one();
	return arg;
}

static void *waits_for_signal(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (!sigwait(&set, &sig) && sig == SIGUSR1)
		ended_one();
	return arg;
}

static void *sleeps(void *arg)
{
	pthread_setname_np(pthread_self(), "sleeper");
	while (!__atomic_load_n(&woken, __ATOMIC_SEQ_CST)) {
		struct timespec ts = {.tv_nsec = 3000000}, by;

		if (nanosleep(&ts, NULL) || poll(NULL, 0, 2))
			return arg; /* EINTR */
		clock_gettime(CLOCK_REALTIME, &by);
		pthread_mutex_lock(&plain);
		turns += pthread_cond_timedwait(&over, &plain, &by) == ETIMEDOUT;
		pthread_mutex_unlock(&plain);
	}
	ended_one();
	return arg;
}

static void *comes_and_goes(void *arg)
{
	return (void *)compute((uint64_t)arg, PART / 10);
}

int main(int argc, char **argv)
{
	void *(*const helpers[])(void *) = {waits_for_condition, reads, waits_for_semaphore, waits_for_signal, sleeps};
	enum { HELPERS = sizeof(helpers) / sizeof(*helpers) };
	pthread_t team[TEAM], helper[HELPERS], one;
	pthread_mutexattr_t recursive;
	uint64_t sum = 0;
	sigset_t set;
	void *result;

	steps = argc > 2 ? atoi(argv[1]) : 0;
	gate = argv[2];
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	if (!steps || pipe(ends) || pthread_barrier_init(&all, NULL, TEAM + 1) || sem_init(&posted, 0, 0) ||
	    pthread_mutex_init(&owned, &recursive))
		return 3;
	for (long i = 0; i < HELPERS; i++)
		if (pthread_create(&helper[i], NULL, helpers[i], NULL))
			return 4;
	for (long i = 0; i < TEAM; i++)
		if (pthread_create(&team[i], NULL, works, (void *)i))
			return 4;
	for (int i = 0; i < steps; i++) {
		uint64_t part = 0;

#pragma omp parallel for reduction(^ : part) num_threads(3)
		for (int k = 0; k < 6; k++)
			part ^= compute(k + i, PART / 4);
		sum = sum * 31 + part;
		pthread_create(&one, NULL, comes_and_goes, (void *)(uintptr_t)i);
		pthread_join(one, &result);
		sum += (uint64_t)result;
		if (i == steps / 2) {
			printf("half\n");
			fflush(stdout);
			while (access(gate, F_OK))
				usleep(1000);
			spun = 1;
		}
		pthread_barrier_wait(&all);
	}
	for (int i = 0; i < TEAM; i++) {
		pthread_join(team[i], &result);
		sum ^= sums[i] + (uint64_t)result;
	}
	pthread_mutex_lock(&plain);
	__atomic_store_n(&woken, 1, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&over);
	pthread_mutex_unlock(&plain);
	sem_post(&posted);
	pthread_kill(helper[3], SIGUSR1);
	if (write(ends[1], "done", 5) != 5)
		return 5;
	for (int i = 0; i < HELPERS; i++)
		pthread_join(helper[i], NULL);
	printf("sum %lu, %d of %d ended, own %lu\n", (unsigned long)sum, ended, HELPERS, (unsigned long)own);
	return ended != HELPERS || !turns || syscall(SYS_gettid) != getpid();
}
