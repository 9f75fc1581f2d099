/* proc_pid_status(5), pthread_exit(3): the first thread is a zombie after its end, and is still listed and counted. */
#include "../observe.h"
#include <dirent.h>
#include <pthread.h>

static void *other(void *arg)
{
	char line[512], state;
	int found = 0;
	long threads = 0, vsize = 1;

	(void)arg;
	/* joined by nobody: wait until the kernel shows its end */
	for (state = 0; state != 'Z';) {
		FILE *file = fopen("/proc/self/stat", "r");
		MUST(file && fgets(line, sizeof(line), file));
		MUST(sscanf(strrchr(line, ')'), ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
						"%ld %*d %*d %ld",
			    &state, &threads, &vsize) == 3);
		fclose(file);
	}
	printf("stat: %c %ld %ld\n", state, threads, vsize);
	DIR *all = opendir("/proc/self/task");
	MUST(all);
	for (struct dirent *d; (d = readdir(all));)
		found += d->d_name[0] != '.';
	closedir(all);
	printf("task: %d\n", found);
	FILE *file = fopen("/proc/self/status", "r");
	MUST(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "State:", 6) || !strncmp(line, "Threads:", 8) || !strncmp(line, "Vm", 2) ||
		    !strncmp(line, "FDSize:", 7))
			printf("%s", line);
	fclose(file);
	MUST((file = fopen("/proc/thread-self/status", "r")));
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Threads:", 8) || !strncmp(line, "State:", 6))
			printf("of this thread: %s", line);
	fclose(file);
	MUST((file = fopen("/proc/self/statm", "r")) && fgets(line, sizeof(line), file));
	printf("statm: %s", line);
	fclose(file);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, other, NULL));
	pthread_exit(NULL);
}
