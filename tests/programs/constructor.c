/* A library (-DLIBRARY) whose constructor makes a thread and a process before the program's entry point. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int constructor_status(void);
int constructor_turns(void);

#ifdef LIBRARY
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns, stop, status;

static void *work(void *arg)
{
	for (int stopped = 0; !stopped;) {
		pthread_mutex_lock(&lock);
		turns++;
		stopped = stop;
		pthread_mutex_unlock(&lock);
		usleep(100);
	}
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_create(&thread, NULL, work, NULL);
	if (fork() == 0)
		_exit(3);
	wait(&status);
}

int constructor_status(void)
{
	return WEXITSTATUS(status);
}

int constructor_turns(void)
{
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	return turns;
}
#else
int main(void)
{
	printf("the constructor's child said %d\n", constructor_status());
	usleep(2000);
	printf("turns %d\n", constructor_turns() > 0);
}
#endif
