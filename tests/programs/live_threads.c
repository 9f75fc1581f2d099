/* For restarts: threads that wait for each other in every way, come and go; what is printed at the end does not depend on
 * who ran when. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, ITEMS = 40, ROUNDS = 6, SIGNALS = 5, SHORT = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, nested, robust, inherits;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meet;
static sem_t rung;
static int queue[4], filled, taken, ends[2];
static uint64_t sum, turns, rounds[WORKERS];
static volatile sig_atomic_t heard;
static pthread_t listener;
static _Thread_local uint64_t own;

static void need(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static uint64_t work(uint64_t x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x >> 20;
}

static void add(uint64_t x)
{
	pthread_mutex_lock(&nested);
	pthread_mutex_lock(&nested); /* recursive: it knows its owner by number */
	sum += x;
	sched_yield();
	pthread_mutex_unlock(&nested);
	pthread_mutex_unlock(&nested);
}

static int take(void)
{
	pthread_mutex_lock(&lock);
	while (!filled && taken < ITEMS)
		pthread_cond_wait(&more, &lock);
	int item = taken < ITEMS ? queue[--filled] : -1;
	taken += item >= 0;
	if (taken == ITEMS)
		pthread_cond_broadcast(&more);
	pthread_cond_signal(&room);
	pthread_mutex_unlock(&lock);
	return item;
}

static void *worker(void *arg)
{
	const uintptr_t number = (uintptr_t)arg;
	for (int item; (item = take()) >= 0;) {
		own += work((uint64_t)item);
		if (item % 9 == 0)
			need(write(ends[1], "x", 1) == 1, "write");
	}
	for (int round = 0; round < ROUNDS; round++) {
		rounds[number] += work(number + (uint64_t)round);
		pthread_barrier_wait(&meet);
		pthread_rwlock_rdlock(&table);
		for (int i = 0; i < WORKERS; i++) /* the others' are whole */
			own += rounds[i] & 1;
		pthread_rwlock_unlock(&table);
		pthread_barrier_wait(&meet);
		pthread_mutex_lock(&inherits);
		turns += (uint64_t)round;
		if (number == 1)
			usleep(1000);
		pthread_mutex_unlock(&inherits);
	}
	add(own);
	return (void *)(number + 1);
}

static void on_usr1(int sig)
{
	(void)sig;
	heard += pthread_equal(pthread_self(), listener) ? 1 : 100;
	sem_post(&rung);
}

/* Its signals are its own: all others block them. */
static void *listen_there(void *arg)
{
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	listener = pthread_self();
	sem_post(&rung);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	while (heard < SIGNALS)
		pause(); /* what comes just before it is heard at the next one */
	return arg;
}

static void *reads(void *arg)
{
	char c;
	for (int i = 0; i < (ITEMS + 8) / 9; i++)
		need(read(ends[0], &c, 1) == 1 && c == 'x', "read");
	add(1000);
	return arg;
}

static void *short_lived(void *arg)
{
	struct timespec t = {0, 3000000};
	need(pthread_mutex_lock(&robust) == 0, "robust");
	need(nanosleep(&t, NULL) == 0, "nanosleep");
	add((uintptr_t)arg);
	return NULL; /* and holds it still */
}

static void set_up(void)
{
	pthread_mutexattr_t a;
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	need(!pthread_mutexattr_init(&a) && !pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE), "set-up");
	need(!pthread_mutex_init(&nested, &a), "set-up");
	need(!pthread_mutexattr_init(&a) && !pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST), "set-up");
	need(!pthread_mutex_init(&robust, &a), "set-up");
	need(!pthread_mutexattr_init(&a) && !pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT), "set-up");
	need(!pthread_mutex_init(&inherits, &a), "set-up");
	need(!pthread_barrier_init(&meet, NULL, WORKERS) && !sem_init(&rung, 0, 0) && !pipe(ends), "set-up");
	struct sigaction sa = {.sa_handler = on_usr1};
	need(!sigaction(SIGUSR1, &sa, NULL) && !pthread_sigmask(SIG_BLOCK, &one, NULL), "set-up");
}

static void feed(void)
{
	for (int item = 0; item < ITEMS; item++) {
		pthread_mutex_lock(&lock);
		while (filled == 4)
			pthread_cond_wait(&room, &lock);
		queue[filled++] = item;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
}

static void ring(void)
{
	struct timespec until;
	for (int i = 0; i < SIGNALS; i++) {
		need(!pthread_kill(listener, SIGUSR1), "pthread_kill");
		need(!clock_gettime(CLOCK_REALTIME, &until), "clock");
		until.tv_sec += 3600;
		need(!sem_timedwait(&rung, &until), "sem_timedwait");
	}
}

int main(void)
{
	pthread_t threads[WORKERS + 2], one;
	void *result;
	set_up();
	pthread_create(&threads[WORKERS], NULL, listen_there, NULL);
	need(!sem_wait(&rung), "sem_wait");
	pthread_create(&threads[WORKERS + 1], NULL, reads, NULL);
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)i);
	feed();
	ring();
	for (uintptr_t i = 0; i < SHORT; i++) {
		pthread_create(&one, NULL, short_lived, (void *)i);
		pthread_join(one, NULL);
		need(pthread_mutex_lock(&robust) == EOWNERDEAD && !pthread_mutex_consistent(&robust), "robust");
		need(!pthread_mutex_unlock(&robust), "robust");
	}
	/* the last one may wait for a signal that came too early */
	while (pthread_tryjoin_np(threads[WORKERS], NULL) == EBUSY) {
		pthread_kill(threads[WORKERS], SIGUSR1);
		usleep(2000);
	}
	for (int i = 0; i < WORKERS + 2; i++)
		if (i != WORKERS) {
			pthread_join(threads[i], &result);
			sum += (uintptr_t)result;
		}
	printf("sum %lu, %d\n", (unsigned long)(sum + turns), heard >= SIGNALS && heard < 100);
	return 0;
}
