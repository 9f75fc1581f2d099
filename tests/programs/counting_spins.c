/* Two threads take a lock in turn by trying, and each counts its vain tries in a page of its own; or they
 * hand a turn to each other.  argv: kind, steps.  Prints how often the lock or the turn was had. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, PAGE = 4096, WORK = 3000 };

struct counts {
	_Alignas(PAGE) volatile long tries;
	volatile long rounds;
};

static atomic_int word, turn;
static pthread_spinlock_t spin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct counts of_thread[THREADS];
static _Alignas(PAGE) volatile long had;
static enum { WORD, SPIN, MUTEX, BACKOFF, LONG, ROUNDS, TURNS } kind;
static const char *const names[] = {"word", "spin", "mutex", "backoff", "long", "rounds", "turns"};
static int steps;

static void pauses(int n)
{
	for (int i = 0; i < n; i++)
		__builtin_ia32_pause();
}

static int try_word(void)
{
	int free = 0;
	return atomic_compare_exchange_strong(&word, &free, 1);
}

static int try(void)
{
	if (kind == SPIN)
		return !pthread_spin_trylock(&spin);
	if (kind == MUTEX)
		return !pthread_mutex_trylock(&mutex);
	return try_word();
}

static void release(void)
{
	if (kind == SPIN)
		pthread_spin_unlock(&spin);
	else if (kind == MUTEX)
		pthread_mutex_unlock(&mutex);
	else
		atomic_store(&word, 0);
}

static void take(struct counts *c)
{
	int delay = 4;
	while (!try()) {
		c->tries++;
		if (kind == BACKOFF)
			delay = delay < 256 ? delay * 2 : 4;
		else if (kind == LONG)
			delay = 60;
		pauses(delay);
	}
}

/* Gives up, and counts that, and begins again. */
static void take_in_rounds(struct counts *c)
{
	for (;; c->rounds++)
		for (int i = 0; i < 30; i++) {
			if (try())
				return;
			pauses(4);
		}
}

/* The first one ends while the other waits. */
static void hand_on(int me)
{
	for (int step = 0; step < steps; step++) {
		while (atomic_load(&turn) != me)
			__builtin_ia32_pause();
		had++;
		atomic_store(&turn, !me);
	}
}

static void *run(void *arg)
{
	struct counts *c = arg;
	if (kind == TURNS) {
		hand_on(c != of_thread);
		return NULL;
	}
	for (int step = 0; step < steps; step++) {
		if (kind == ROUNDS)
			take_in_rounds(c);
		else
			take(c);
		for (volatile int i = 0; i < WORK; i++)
			;
		had++;
		release();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	while (strcmp(names[kind], argv[1])) /* once: where a turn calls libc its places are costly to find again */
		kind++;
	steps = argc > 2 ? atoi(argv[2]) : 1;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, run, &of_thread[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", had);
	return 0;
}
