/* Ways to write to memory and to read it, next to each other in pages that are watched. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

char table[3 * PAGE] __attribute__((aligned(PAGE)));
struct {
	char before[64];
	uint64_t numbers[40];
	double fraction;
	long double wide;
	char after[64];
} record __attribute__((aligned(PAGE)));
char *mapped, *stack_array;
volatile uint64_t elsewhere;
static char barrier_page[PAGE] __attribute__((aligned(PAGE)));
volatile int faults, done;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	faults++;
	mprotect(barrier_page, PAGE, PROT_READ | PROT_WRITE);
}

static void on_alarm(int signal)
{
	table[1] = 1;
}

__attribute__((noinline)) static void plain(void)
{
	for (int i = 0; i < 40; i++) {
		record.numbers[i] = (uint64_t)i * 3;
		elsewhere += record.numbers[i / 2];
	}
	record.numbers[7] = record.numbers[7]; /* no change */
	for (int i = 0; i < (int)sizeof(table); i += 100)
		table[i] = (char)i;
	record.before[0] = 'n'; /* the same page, another place */
	record.after[63] = 'n';
}

__attribute__((noinline)) static void strange(void)
{
	volatile long double x = 1.5L;

	record.fraction = 0.25 * (double)elsewhere;
	record.wide = x * 2;
	__atomic_fetch_add(&record.numbers[3], 5, __ATOMIC_SEQ_CST);
	__asm__ volatile("lock cmpxchg16b %0" : "+m"(*(__int128 *)&record.numbers[8]) : "a"(0), "d"(0), "b"(1), "c"(2));
	__asm__ volatile("xchg %0, %1" : "+m"(record.numbers[12]) : "r"(4ul));
	memset(table + 100, 'm', 5000);
	memcpy(table + PAGE - 10, table + 2 * PAGE - 500, 700);
	memmove(table + 10, table, 300);
	void *to = table + PAGE + 40, *from = table;
	unsigned long n = PAGE + 100;
	__asm__ volatile("rep movsb\n.globl behind_movsb\nbehind_movsb:" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	elsewhere += strlen(table + 200) + (unsigned long)memcmp(table, table + PAGE, 300);
}

__attribute__((noinline)) static int deep(int n)
{
	char array[300];

	stack_array = array;
	memset(array, n, sizeof(array));
	if (n > 0)
		array[n] = (char)deep(n - 1);
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return array[0] + array[n];
}

__attribute__((noinline)) static void outside(void)
{
	int p[2];

	if (pipe(p) || write(p[1], table, 5000) != 5000 || read(p[0], table + 3000, 4000) != 4000)
		_exit(1);
	mapped = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(mapped + PAGE, 1, 2 * PAGE);
	mprotect(mapped, PAGE, PROT_READ);
	memset(mapped + PAGE, 2, 100);
	munmap(mapped + 3 * PAGE, PAGE);
	snprintf(table, 200, "%d %p %s", 5, "x", "from printf");
	mprotect(barrier_page, PAGE, PROT_READ);
	barrier_page[17] = 1;
	barrier_page[18] = 2;
	elsewhere += (unsigned long)*(volatile char *)&barrier_page[17];
}

static void *work(void *number)
{
	for (int i = 0; i < 300; i++) {
		__atomic_fetch_add(&record.numbers[20 + (long)number], 1, __ATOMIC_RELAXED);
		if (i % 50 == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	pthread_t thread[2];

	sigaction(SIGSEGV, &fault, NULL);
	signal(SIGUSR1, on_alarm);
	plain();
	strange();
	deep(4);
	raise(SIGUSR1);
	outside();
	for (long i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	done = 1;
	return faults;
}
