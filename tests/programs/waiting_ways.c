/* Two threads hand a turn to each other, and wait for it in one of the ways in which a program waits without a lock of
 * the C library's.  argv: way, steps.  Prints how often the turn was had, and a sum that both have made. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static atomic_int turn;
static volatile int flag; /* as programs do that know nothing of atomics */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static pthread_spinlock_t spin;
static unsigned long had, sum;
static int steps, pair[2], self;

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

static uint64_t now(clockid_t clock)
{
	struct timespec at;
	clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void until(bool in_time)
{
	if (!in_time)
		abort();
}

enum { LONG_NS = 1000000000 };

static void by_deadline(int me)
{
	const uint64_t end = now(CLOCK_MONOTONIC) + 100ul * LONG_NS;
	while (atomic_load(&turn) != me)
		until(now(CLOCK_MONOTONIC) < end);
}

static void by_date(int me)
{
	const double end = (double)now(CLOCK_REALTIME) + 1e2 * LONG_NS;
	while (atomic_load(&turn) != me)
		until((double)now(CLOCK_REALTIME) < end);
}

static void by_counter(int me)
{
	const uint64_t end = __rdtsc() + 1000ul * LONG_NS;
	while (atomic_load(&turn) != me)
		until(__rdtsc() < end);
}

static void by_counter_of_a_processor(int me)
{
	unsigned where;
	while (atomic_load(&turn) != me)
		until(__rdtscp(&where));
}

static void by_delay(int me)
{
	while (atomic_load(&turn) != me)
		for (uint64_t end = now(CLOCK_MONOTONIC) + 1000; now(CLOCK_MONOTONIC) < end;)
			__builtin_ia32_pause();
}

static void by_counted_delay(int me)
{
	while (atomic_load(&turn) != me)
		for (uint64_t end = __rdtsc() + 2000; __rdtsc() < end;)
			__builtin_ia32_pause();
}

static void by_seconds(int me)
{
	while (atomic_load(&turn) != me)
		until(time(NULL) > 0);
}

static void by_day(int me)
{
	struct timeval at;
	while (atomic_load(&turn) != me)
		gettimeofday(&at, NULL);
}

static void by_used_time(int me)
{
	while (atomic_load(&turn) != me)
		until(now(CLOCK_THREAD_CPUTIME_ID) < 100ul * LONG_NS);
}

static void by_usage(int me)
{
	struct rusage used;
	while (atomic_load(&turn) != me)
		getrusage(RUSAGE_SELF, &used);
}

static void by_parent(int me)
{
	static volatile unsigned long tries;
	for (const pid_t parent = getppid(); atomic_load(&turn) != me; tries++)
		until(getppid() == parent);
}

static void by_receive(int me)
{
	char byte;
	while (atomic_load(&turn) != me)
		until(recv(pair[me], &byte, 1, MSG_DONTWAIT) < 0);
}

static void by_read(int me)
{
	char bytes[4];
	while (atomic_load(&turn) != me)
		until(pread(self, bytes, sizeof(bytes), 0) == sizeof(bytes));
}

static void by_poll(int me)
{
	struct pollfd wanted = {.fd = pair[me], .events = POLLIN};
	while (atomic_load(&turn) != me)
		until(poll(&wanted, 1, 0) == 0);
}

static void by_receive_until(int me)
{
	char byte;
	const uint64_t end = now(CLOCK_MONOTONIC) + 100ul * LONG_NS;
	while (atomic_load(&turn) != me)
		until(recv(pair[me], &byte, 1, MSG_DONTWAIT) < 0 && now(CLOCK_MONOTONIC) < end);
}

static void by_everything(int me)
{
	const pid_t parent = getppid();
	const uint64_t end = now(CLOCK_MONOTONIC) + 100ul * LONG_NS, last = __rdtsc() + 1000ul * LONG_NS;
	while (atomic_load(&turn) != me)
		until(now(CLOCK_MONOTONIC) < end && __rdtsc() < last && getppid() == parent && time(NULL) > 0);
}

static void by_cpuid(int me)
{
	unsigned a, b, c, d;
	while (atomic_load(&turn) != me)
		__cpuid(0, a, b, c, d);
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
	{"deadline", by_deadline},
	{"date", by_date},
	{"counter", by_counter},
	{"counter-of-a-processor", by_counter_of_a_processor},
	{"delay", by_delay},
	{"counted-delay", by_counted_delay},
	{"seconds", by_seconds},
	{"day", by_day},
	{"used-time", by_used_time},
	{"usage", by_usage},
	{"parent", by_parent},
	{"receive", by_receive},
	{"read", by_read},
	{"poll", by_poll},
	{"cpuid", by_cpuid},
	{"receive-until", by_receive_until},
	{"everything", by_everything},
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
	self = open("/proc/self/exe", O_RDONLY);
	if (self < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	if (pthread_create(&other, NULL, run, &turn))
		return 1;
	run(NULL);
	pthread_join(other, NULL);
	printf("%lu %lu\n", had, sum);
	return 0;
}
