/* dear_events N: two threads count to N.  With a hash of all memory at each event, an event takes longer than a slice
 * of 1 ms. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 64 << 20 };

static void *counts(void *to)
{
	for (volatile long n = 0; n < *(const long *)to;)
		n++;
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	char *memory = malloc(MEMORY);
	pthread_t thread;

	if (!memory)
		return 1;
	memset(memory, 1, MEMORY);
	if (pthread_create(&thread, NULL, counts, &n))
		return 1;
	counts(&n);
	if (pthread_join(thread, NULL))
		return 1;
	printf("%d\n", memory[n]);
	return 0;
}
