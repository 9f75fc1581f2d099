/* Two threads take turns by a condition variable; two others talk through a pipe. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long turn;
static int ends[2];

static void *take_turns(void *arg)
{
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != (long)arg)
			pthread_cond_wait(&changed, &mutex);
		turn = !turn;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *listen_to(void *arg)
{
	long sum = 0;
	int got;
	while (read(ends[0], &got, sizeof(got)) == sizeof(got))
		sum += got;
	return (void *)sum;
}

int main(void)
{
	pthread_t a, b, listener;
	void *sum;
	if (pipe(ends))
		return 1;
	pthread_create(&a, NULL, take_turns, (void *)0);
	pthread_create(&b, NULL, take_turns, (void *)1);
	pthread_create(&listener, NULL, listen_to, NULL);
	for (int i = 0; i < 100; i++)
		if (write(ends[1], &i, sizeof(i)) != sizeof(i))
			return 1;
	close(ends[1]);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(listener, &sum);
	printf("%ld\n", (long)sum);
	return 0;
}
