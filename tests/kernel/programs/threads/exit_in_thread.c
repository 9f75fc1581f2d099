/* exit(3): from any thread it ends all of them; quick_exit and _exit leave atexit's functions out. */
#include "../observe.h"
#include <pthread.h>
#include <sys/wait.h>

static void at_exit(void)
{
	printf("at exit\n");
}

static void at_quick(void)
{
	printf("at quick exit\n");
	fflush(stdout);
}

static void *ends(void *arg)
{
	switch ((long)arg) {
	case 0: exit(10);
	case 1: quick_exit(11);
	case 2: _exit(12);
	default: abort();
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int status;

	atexit(at_exit);
	at_quick_exit(at_quick);
	for (long way = 0; way < 4; way++) {
		fflush(stdout);
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			MUST(!pthread_create(&thread, NULL, ends, (void *)way));
			for (;;)
				pause();
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("%ld: exit %d signal %d\n", way, WEXITSTATUS(status), WTERMSIG(status));
	}
	return 0;
}
