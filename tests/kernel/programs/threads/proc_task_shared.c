/* proc(5): a process that shares memory with its child has one thread in /proc/self/task, in status and in stat. */
#include "../observe.h"
#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void show(void)
{
	char line[512];
	int found = 0;
	long threads = 0;
	DIR *all = opendir("/proc/self/task");

	MUST(all);
	for (struct dirent *d; (d = readdir(all));)
		found += d->d_name[0] != '.';
	closedir(all);
	FILE *file = fopen("/proc/self/stat", "r");
	MUST(file && fgets(line, sizeof(line), file));
	MUST(sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
		    &threads) == 1);
	fclose(file);
	printf("%d %ld\n", found, threads);
	MUST((file = fopen("/proc/self/status", "r")));
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Threads:", 8))
			printf("%s", line);
	fclose(file);
	fflush(stdout);
}

int main(void)
{
	volatile int *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	MUST(word != MAP_FAILED);
	pid_t child = fork();
	if (!child) {
		show();
		*word = 1;
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	show();
	return *word != 1;
}
