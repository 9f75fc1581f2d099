/* proc(5): files about the process by other ways: a descriptor of its folder, its working directory, its thread. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

static char text[1 << 16];
static const char *program;

static void show(int dir, const char *prefix, const char *name)
{
	char path[PATH_MAX];
	int handlers = 0, fd;
	ssize_t n = 0, more;

	snprintf(path, sizeof path, "%s%s", prefix, name);
	MUST((fd = openat(dir, path, O_RDONLY)) >= 0);
	while ((more = read(fd, text + n, sizeof text - 1 - (size_t)n)) > 0)
		n += more;
	text[n] = 0;
	close(fd);
	if (!strcmp(name, "maps")) {
		unsigned long from, to, here = (unsigned long)&text;
		for (char *line = text; *line; line = strchr(line, '\n') + 1)
			if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= here && here < to)
				printf("maps: found, first the program: %d\n", strstr(text, program) != NULL);
	} else if (!strcmp(name, "status")) {
		printf("%.*s, ", (int)strcspn(text, "\n"), text);
		for (const char *s = strstr(text, "SigCgt:"); *s != '\n'; s++)
			handlers += *s >= '1' && *s <= '9';
		printf("digits of handled signals %d\n", handlers);
	} else
		printf("%s: %s\n", name, strrchr(text, '/') ? strrchr(text, '/') : text);
}

static void all(const char *how, int dir, const char *prefix)
{
	struct stat a, b;
	char path[PATH_MAX];

	puts(how);
	show(dir, prefix, "maps");
	show(dir, prefix, "status");
	show(dir, prefix, "cmdline");
	show(dir, prefix, "environ");
	snprintf(path, sizeof path, "%sexe", prefix);
	ssize_t n = readlinkat(dir, path, text, sizeof text - 1);
	MUST(n > 0);
	text[n] = 0;
	puts(strrchr(text, '/'));
	MUST(!fstatat(dir, path, &a, 0) && !stat(program, &b));
	printf("the same: %d\n", a.st_ino == b.st_ino);
	close(openat(dir, path, O_RDONLY));
}

int main(int count, char **arguments)
{
	char path[64];

	program = arguments[0];
	if (count == 1) {
		char *const variables[] = {"LD_BIND_NOW=1", "A=/value", NULL};
		execle("/proc/self/exe", arguments[0], "/again", NULL, variables);
		MUST(0);
	}
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, (void (*)(int))abort);
	int dir = open("/proc/self", O_PATH | O_DIRECTORY);
	all("absolute", AT_FDCWD, "/proc/self/");
	all("by a descriptor", dir, "");
	all("by a descriptor of /proc", open("/proc", O_RDONLY), "self/");
	snprintf(path, sizeof path, "/proc/%d/task/%d/", getpid(), gettid());
	all("by its thread", AT_FDCWD, path);
	all("with dots", AT_FDCWD, "/proc/./self/../thread-self/");
	MUST(!fchdir(dir));
	all("where it works", AT_FDCWD, "");
	return 0;
}
