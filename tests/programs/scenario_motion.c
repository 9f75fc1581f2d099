/* Moving back and forth; tests name places by the comments with @. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int total;
int hits;
int early;
int doubled;
int values[40];

static int fact(int n)
{
	if (n <= 1) /* @fact-first */
		return 1;
	int below = fact(n - 1); /* @fact-call */
	return n * below;
} /* @fact-end */

static void twice(int n)
{
	doubled = n; /* @twice-first */
	doubled += n;
} /* @twice-end */

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b; /* @compare */
	return *x - *y;
}

static void tick(int i)
{
	hits = i; /* @tick */
}

static void prepare(void)
{
	early++; /* @early */
}

static int stroll(void)
{
	int a = 1; /* @stroll */
	a += 1;
	a += 2;
	a += 3;
	a += 4;
	a += 5;
	a += 6;
	twice(a);
	a += 8;
	a += 9;
	a += 10;
	a += 11;
	a += 12;
	a += 13;
	a += 14;
	a += 15; /* @stroll-15 */
	a += 16;
	a += 17;
	a += 18;
	return a;
}

int main(void)
{
	prepare(); /* @main-prepare */
	for (int i = 0; i < 300; i++) /* far enough for snapshots to fall behind */
		getppid();
	total = fact(5); /* @main-fact */
	twice(total);     /* @main-twice */
	total += doubled; /* @after-twice */
	for (int i = 0; i < 40; i++)
		values[i] = (i * 7919) % 31;
	qsort(values, 40, sizeof(*values), compare); /* @main-qsort */
	for (int i = 1; i <= 1000; i++)
		tick(i); /* @main-tick */
	total += 1;      /* @after-ticks */
	total += stroll(); /* @main-stroll */
	printf("%d %d\n", total, hits); /* @print */
	return 0; /* @end */
}
