/* Loops, calls and inlined functions on single lines. */
#include <stdlib.h>
#include <unistd.h>

/* clang-format off */
static volatile long total, turns, rounds = 40;

static long __attribute__((noinline)) plain(long n) { return n * 3 + total % 5; }

static long __attribute__((noinline)) down(long n) { return n < 2 ? 1 : n + down(n - 1); }

static inline long __attribute__((always_inline)) inlined(long n)
{
	for (long i = 0; i < 3; i++) n += i ^ total; /* @inside */
	return n;
}

static long __attribute__((noinline)) work(void)
{
	long sum = 0;
	for (long i = 0; i < rounds; i++) sum += i * total + 1; /* @loop */
	for (long i = 0; i < rounds; i++) sum += plain(i); /* @calls */
	for (long i = 0; i < 4; i++) sum += down(5) + plain(i); /* @recursion */
	for (long i = 0; i < 4; i++) sum += inlined(i) + plain(i); /* @inlined */
	do { sum ^= turns++; sum = sum * 3 + 1; } while (turns < rounds); /* @do */
	for (int i = 0; i < 3; i++) { total++; getppid(); turns--; } /* @events */
	if (sum & 1) sum++; else sum--;
	total = sum; /* @end */
	return sum;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atol(argv[1]);
	total = work();
	return 0;
}
