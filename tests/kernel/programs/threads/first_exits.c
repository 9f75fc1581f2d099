/* pthread_exit(3): the first thread may end while others run on; the process ends with the last one, status 0. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static pthread_t first;

static void at_exit(void)
{
	printf("at exit, in the first thread %d\n", gettid() == getpid());
	fflush(stdout);
}

static void *goes_on(void *arg)
{
	void *result;

	MUST(!pthread_join(first, &result));
	printf("joined the first: %s\n", (char *)result);
	printf("kill of the process %d\n", kill(getpid(), 0));
	fflush(stdout);
	pid_t child = fork();
	if (!child)
		_exit(gettid() == getpid() ? 4 : 5);
	int status;
	MUST(waitpid(child, &status, 0) == child);
	printf("child %x\n", status);
	return arg;
}

int main(void)
{
	pthread_t thread;

	atexit(at_exit);
	first = pthread_self();
	MUST(!pthread_create(&thread, NULL, goes_on, NULL));
	pthread_exit("the first thread's result");
}
