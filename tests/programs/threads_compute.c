/* Two threads compute without calls of the system: each is stopped in the middle of it, since both are there when they begin.
 * A turn of the inner loop touches no memory (-O0 keeps `register` in registers), one of the outer loop does. */
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 400, TURNS = 200, INNER = 300 };

static volatile unsigned long results[2];
static pthread_barrier_t both;

static unsigned long turn(unsigned long value, int i)
{
	register unsigned long next = value;
	register int n;
	for (n = 0; n < INNER; n++)
		next = (next * 5) ^ (next >> 3) ^ (unsigned long)i;
	return next;
}

static void *compute(void *arg)
{
	unsigned long value = (unsigned long)arg;
	pthread_barrier_wait(&both);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < TURNS; i++)
			value = turn(value, i);
	results[(unsigned long)arg] = value;
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_barrier_init(&both, NULL, 2);
	for (unsigned long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, compute, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%lx %lx\n", results[0], results[1]);
	return 0;
}
