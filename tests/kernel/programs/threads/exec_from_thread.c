/* execve(2): a thread that is not the first may execute a program: all others are gone, and it has the process's number. */
#include "../observe.h"
#include <dirent.h>
#include <pthread.h>

static char *name;

static void *sleeps(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *executes(void *arg)
{
	char number[16];

	(void)arg;
	snprintf(number, sizeof number, "%d", getpid());
	execl("/proc/self/exe", name, number, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc > 1) {
		DIR *tasks = opendir("/proc/self/task");
		int count = -2;
		while (readdir(tasks))
			count++;
		printf("same process %d, first thread %d, threads %d\n", atoi(argv[1]) == getpid(),
		       gettid() == getpid(), count);
		return 0;
	}
	name = argv[0];
	MUST(!pthread_create(&threads[0], NULL, sleeps, NULL) && !pthread_create(&threads[1], NULL, sleeps, NULL));
	MUST(!pthread_create(&threads[2], NULL, executes, NULL));
	pthread_join(threads[2], NULL);
	MUST(0);
}
