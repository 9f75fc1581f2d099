/* Thousands of short threads, joined and detached; the first one leaves before the last. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *w(void *a)
{
	char *p = malloc(1000);
	for (int i = 0; i < 1000; i++)
		p[i] = i;
	free(p);
	return a;
}
int main(void)
{
	for (int r = 0; r < 20; r++) {
		pthread_t t[20];
		for (int i = 0; i < 20; i++)
			pthread_create(&t[i], 0, w, 0);
		for (int i = 0; i < 20; i++)
			pthread_join(t[i], 0);
	}
	pthread_attr_t at;
	pthread_attr_init(&at);
	pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		pthread_create(&t, &at, w, 0);
	}
	puts("done");
	pthread_exit(0);
}
