/* proc(5): /proc/self/task has one folder for each thread, also named through /proc/thread-self. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

static pthread_barrier_t barrier;
static pid_t numbers[4];

static void status(const char *path)
{
	char text[4096] = "";
	int fd = open(path, O_RDONLY);
	char *line;

	MUST(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
	close(fd);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		int value;
		if (sscanf(line, "Tgid: %d", &value) == 1)
			printf("Tgid mine %d\n", value == getpid());
		if (sscanf(line, "Pid: %d", &value) == 1)
			printf("Pid of this thread %d\n", value == gettid());
		if (!strncmp(line, "Threads:", 8) || !strncmp(line, "SigBlk:", 7))
			printf("%s\n", line);
	}
}

static void *thread(void *arg)
{
	sigset_t set;

	numbers[(long)arg] = gettid();
	if ((long)arg == 2) {
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	if ((long)arg == 2)
		status("/proc/thread-self/status");
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	struct dirent *entry;
	int count = 0, known = 0;

	MUST(!pthread_barrier_init(&barrier, NULL, 4));
	numbers[0] = gettid();
	for (long i = 1; i < 4; i++)
		MUST(!pthread_create(&threads[i], NULL, thread, (void *)i));
	pthread_barrier_wait(&barrier);
	DIR *tasks = opendir("/proc/self/task");
	while ((entry = readdir(tasks))) {
		count += entry->d_name[0] != '.';
		for (int i = 0; i < 4; i++)
			known += atoi(entry->d_name) == numbers[i];
	}
	printf("threads %d known %d\n", count, known);
	status("/proc/self/status");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 1; i < 4; i++)
		MUST(!pthread_join(threads[i], NULL));
	return 0;
}
