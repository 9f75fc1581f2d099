/* Two threads hand a turn to each other, and wait for it in one of the ways in which a program waits without a lock of
 * the C library's.  argv: way, steps.  Prints how often the turn was had, and a sum that both have made. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int turn;
static volatile int flag; /* as programs do that know nothing of atomics */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static pthread_spinlock_t spin;
static unsigned long had, sum;
static int steps;

static void by_yield(int me)
{
	while (atomic_load(&turn) != me)
		sched_yield();
}

static void by_sleep(int me)
{
	const struct timespec none = {0};
	while (atomic_load(&turn) != me)
		nanosleep(&none, NULL);
}

/* Nobody wakes it: it looks again when its time is over. */
static void by_futex(int me)
{
	const struct timespec soon = {.tv_nsec = 20000};
	while (atomic_load(&turn) != me)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !me, &soon, NULL, 0);
}

static void by_atomic(int me)
{
	while (atomic_load_explicit(&turn, memory_order_acquire) != me)
		__builtin_ia32_pause();
}

static void by_flag(int me)
{
	while (flag != me)
		;
}

static int is_mine(int me)
{
	return atomic_load_explicit(&turn, memory_order_relaxed) == me;
}

/* The turn is looked at with the lock held. */
static void by_spin_lock(int me)
{
	for (int mine = 0; !mine;) {
		pthread_spin_lock(&spin);
		mine = is_mine(me);
		pthread_spin_unlock(&spin);
	}
}

static void by_atomic_flag(int me)
{
	for (int mine = 0; !mine;) {
		while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
			;
		mine = is_mine(me);
		atomic_flag_clear_explicit(&busy, memory_order_release);
	}
}

static const struct way {
	const char *name;
	void (*await)(int me);
} ways[] = {
	{"yield", by_yield},
	{"sleep", by_sleep},
	{"futex", by_futex},
	{"atomic", by_atomic},
	{"flag", by_flag},
	{"spin-lock", by_spin_lock},
	{"atomic-flag", by_atomic_flag},
};
static const struct way *way = ways;

static void *run(void *arg)
{
	const int me = arg != NULL;
	for (int i = 0; i < steps; i++) {
		way->await(me);
		atomic_thread_fence(memory_order_acquire);
		had++;
		sum = sum * 3 + (unsigned)me;
		for (volatile int work = 0; work < 1000; work++)
			;
		atomic_store(&turn, !me);
		flag = !me;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	steps = argc > 2 ? atoi(argv[2]) : 0;
	while (argc > 1 && strcmp(way->name, argv[1]))
		way++;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	if (pthread_create(&other, NULL, run, &turn))
		return 1;
	run(NULL);
	pthread_join(other, NULL);
	printf("%lu %lu\n", had, sum);
	return 0;
}
