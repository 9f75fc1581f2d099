/* fault_threads ROUNDS: three threads take turns and do not: a lock, a read, memory; one line for each round. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds, next;
static unsigned long sum;
static _Atomic unsigned long together;

static void *work(void *arg)
{
	unsigned char bytes[600];
	int fd = open("/dev/urandom", O_RDONLY);
	for (;;) {
		long got = read(fd, bytes, sizeof(bytes) >> (long)arg);
		for (long k = 0; k < got; k++)
			together += bytes[k];
		pthread_mutex_lock(&lock);
		const long i = next < rounds ? next++ : -1;
		if (i >= 0) {
			char line[32];
			syscall(SYS_getppid, i, 0, 0, 0, 0, 0);
			sum += together;
			int len = snprintf(line, sizeof(line), "%ld\n", i);
			if (write(1, line, (size_t)len) != len)
				exit(9);
		}
		pthread_mutex_unlock(&lock);
		if (i < 0)
			return NULL;
	}
}

int main(int argc, char **argv)
{
	pthread_t others[2];
	rounds = argc > 1 ? atol(argv[1]) : 0;
	for (long i = 0; i < 2; i++)
		if (pthread_create(&others[i], NULL, work, (void *)(i + 1)))
			return 9;
	work((void *)0);
	for (int i = 0; i < 2; i++)
		pthread_join(others[i], NULL);
	return 3;
}
