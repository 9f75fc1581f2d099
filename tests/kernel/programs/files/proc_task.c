/* proc_pid_task(5): one folder for each thread, named by its number; it goes when the thread ends. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static pthread_barrier_t barrier;
static int numbers[3];

static void *rest(void *arg)
{
	numbers[(long)arg] = gettid();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void show(void)
{
	int count = 0, known = 0;
	DIR *list = opendir("/proc/self/task");
	struct dirent *entry;
	struct stat status;

	MUST(list);
	while ((entry = readdir(list))) {
		int number = atoi(entry->d_name);
		count += number != 0;
		known += number == getpid();
		for (int i = 0; number && i < 3; i++)
			known += number == numbers[i];
	}
	closedir(list);
	MUST(!stat("/proc/self/task", &status));
	printf("%d threads, %d known, %lu links\n", count, known, (unsigned long)status.st_nlink);
}

int main(void)
{
	pthread_t threads[3];
	char path[64];

	pthread_barrier_init(&barrier, NULL, 4);
	show();
	for (long i = 0; i < 3; i++)
		MUST(!pthread_create(threads + i, NULL, rest, (void *)i));
	pthread_barrier_wait(&barrier);
	show();
	snprintf(path, sizeof path, "/proc/%d", numbers[0]); /* a thread's number opens there, too */
	SAY(access(path, F_OK));
	snprintf(path, sizeof path, "/proc/self/task/%d/cwd", numbers[0]);
	SAY(access(path, F_OK));
	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	int fd = open(path, O_RDONLY);
	SAY(fd < 0 ? 0 : read(fd, path, sizeof path));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		MUST(!pthread_join(threads[i], NULL));
	return 0;
}
