/* proc_pid_stat(5): the name in parentheses, state, parent, group, session and number of threads. */
#include "../observe.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void *rest(void *arg)
{
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

static void show(const char *path)
{
	char text[1024], state;
	int pid, parent, group, session;
	long threads;
	FILE *file = fopen(path, "r");

	MUST(file && fgets(text, sizeof text, file));
	fclose(file);
	char *end = strrchr(text, ')');
	MUST(end && sscanf(text, "%d", &pid) == 1);
	MUST(sscanf(end + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state, &parent,
		    &group, &session, &threads) == 5);
	printf("%.*s %c, itself %d, parent %d, group %d, session %d, threads %ld\n", (int)(end - strchr(text, '(') + 1),
	       strchr(text, '('), state, pid == getpid(), parent == getppid(), group == getpgrp(), session == getsid(0),
	       threads);
}

int main(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	int status;

	MUST(!prctl(PR_SET_NAME, "a) R 1 ("));
	show("/proc/self/stat");
	pthread_barrier_init(&barrier, NULL, 2);
	MUST(!pthread_create(&thread, NULL, rest, &barrier));
	pthread_barrier_wait(&barrier);
	show("/proc/self/stat");
	show("/proc/thread-self/stat");
	pthread_barrier_wait(&barrier);
	MUST(!pthread_join(thread, NULL));
	fflush(stdout);
	if (!fork()) {
		MUST(!setpgid(0, 0));
		show("/proc/self/stat");
		return 0;
	}
	MUST(wait(&status) > 0);
	return WEXITSTATUS(status);
}
