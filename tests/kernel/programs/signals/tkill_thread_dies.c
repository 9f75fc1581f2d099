/* signal(7): a deadly signal to one thread ends all of them; a fault in a thread, too. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *faults(void *arg)
{
	*(volatile int *)arg = 1;
	return arg;
}

int main(void)
{
	struct rlimit none = {0, 0};
	pthread_t thread;
	int status;

	setrlimit(RLIMIT_CORE, &none);
	for (int way = 0; way < 2; way++) {
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			MUST(!pthread_create(&thread, NULL, way ? faults : waits, NULL));
			if (!way)
				pthread_kill(thread, SIGTERM);
			waits(NULL);
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("%d: signal %d\n", way, WTERMSIG(status));
	}
	return 0;
}
