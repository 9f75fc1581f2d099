/* proc_pid_limits(5): shows what setrlimit has set, of this process and of a child. */
#include "../observe.h"
#include <sys/resource.h>
#include <sys/wait.h>

static void show(const char *path)
{
	char line[256];
	FILE *file = fopen(path, "r");

	MUST(file);
	while (fgets(line, sizeof line, file))
		printf("%s", line);
	fclose(file);
	fflush(stdout);
}

int main(void)
{
	struct rlimit files = {33, 44}, core = {0, 0}, stack = {1 << 20, RLIM_INFINITY};
	char path[64];
	int two[2], status;

	MUST(!getrlimit(RLIMIT_STACK, &stack));
	stack.rlim_cur = 1 << 20;
	MUST(!setrlimit(RLIMIT_NOFILE, &files) && !setrlimit(RLIMIT_CORE, &core) && !setrlimit(RLIMIT_STACK, &stack));
	show("/proc/self/limits");
	MUST(!pipe(two));
	pid_t child = fork();
	if (!child) {
		char byte;
		close(two[1]);
		_exit((int)read(two[0], &byte, 1));
	}
	files.rlim_cur = 22;
	SAY(prlimit(child, RLIMIT_NOFILE, &files, &core));
	printf("%ld %ld\n", (long)core.rlim_cur, (long)core.rlim_max);
	snprintf(path, sizeof path, "/proc/%d/limits", child);
	show(path);
	close(two[1]);
	MUST(waitpid(child, &status, 0) == child);
	return status;
}
