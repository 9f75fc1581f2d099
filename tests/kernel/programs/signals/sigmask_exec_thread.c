/* execve(2): the mask of the thread that calls it is kept, and what is pending for the process. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>

static char *name;

static void *executes(void *arg)
{
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	MUST(!pthread_kill(pthread_self(), SIGUSR1));
	MUST(!kill(getpid(), SIGTERM));
	execl("/proc/self/exe", name, "again", NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	sigset_t set;

	name = argv[0];
	sigprocmask(SIG_BLOCK, NULL, &set);
	if (argc > 1) {
		for (int s = 1; s < 65; s++)
			if (sigismember(&set, s) == 1)
				printf("blocked %d\n", s);
		sigpending(&set);
		for (int s = 1; s < 65; s++)
			if (sigismember(&set, s) == 1)
				printf("pending %d\n", s);
		return 0;
	}
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	MUST(!pthread_create(&thread, NULL, executes, NULL));
	pthread_join(thread, NULL);
	MUST(0);
}
