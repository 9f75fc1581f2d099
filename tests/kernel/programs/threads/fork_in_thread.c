/* fork(2): the child has only the thread that called it; pthread_atfork's handlers run in their orders. */
#include "../observe.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int own = 5;

static void before_a(void)
{
	printf("before a\n");
	pthread_mutex_lock(&mutex);
}

static void before_b(void)
{
	printf("before b\n");
	fflush(stdout);
}

static void parent_a(void)
{
	pthread_mutex_unlock(&mutex);
}

static void child_a(void)
{
	printf("child a\n");
	pthread_mutex_unlock(&mutex);
}

static void child_b(void)
{
	printf("child b\n");
}

static void *thread_of_child(void *arg)
{
	return arg;
}

static void *forks(void *arg)
{
	int status;
	pid_t child;

	own = 77;
	child = fork();
	MUST(child >= 0);
	if (!child) {
		pthread_t thread;
		void *result;
		DIR *tasks = opendir("/proc/self/task");
		int count = -2;

		while (readdir(tasks))
			count++;
		printf("threads %d first %d own %d\n", count, gettid() == getpid(), own);
		pthread_mutex_lock(&mutex);
		MUST(!pthread_create(&thread, NULL, thread_of_child, "from a new thread") &&
		     !pthread_join(thread, &result));
		printf("%s\n", (char *)result);
		fflush(stdout);
		exit(3);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
	return arg;
}

int main(void)
{
	pthread_t thread;

	MUST(!pthread_atfork(before_b, NULL, child_a) && !pthread_atfork(before_a, parent_a, child_b));
	MUST(!pthread_create(&thread, NULL, forks, NULL) && !pthread_join(thread, NULL));
	pthread_mutex_lock(&mutex);
	printf("done\n");
	return 0;
}
