/* counted_turns N: a thread computes while another one goes N times round a loop whose turns differ in one word: a
 * counter, alone in its page.  All else that a turn stores is at its end what it was before. */
#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096 };

#define STORE(i) (work.word[i] += work.one, work.word[i] -= work.one)
#define STORES(i) (STORE(i), STORE((i) + 1), STORE((i) + 2), STORE((i) + 3), STORE((i) + 4), STORE((i) + 5))

static struct {
	alignas(PAGE) volatile uint64_t n;
} turns;
static struct {
	alignas(PAGE) volatile uint64_t word[24], one;
} work = {.one = 1};
static uint64_t end;

static void *goes_round(void *unused)
{
	while (turns.n != end) {
		STORES(0);
		STORES(6);
		turns.n++;
		STORES(12);
		STORES(18);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argc;
	end = strtoull(argv[1], NULL, 10);
	if (pthread_create(&thread, NULL, goes_round, NULL))
		return 1;
	for (volatile uint64_t n = 0; n < 40 * end;)
		n++;
	if (pthread_join(thread, NULL))
		return 1;
	printf("%llu\n", (unsigned long long)turns.n);
	return 0;
}
