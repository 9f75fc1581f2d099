/* A shared mapping that is far longer than its file, and one of a file that is nearly all hole, as databases make them.
 * The files change meanwhile.  argv: a folder for them. */
#include "calls.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define LONG (1ul << 40)
#define HOLE (1ul << 30)
enum { PART = 1 << 16 };

static int make(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	NEED(fd >= 0);
	return fd;
}

static const char *map(int fd, size_t len)
{
	const char *at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	NEED(at != MAP_FAILED);
	return at;
}

static void put(int fd, const char *text, size_t at)
{
	NEED(pwrite(fd, text, strlen(text), (off_t)at) == (ssize_t)strlen(text));
}

int main(int argc, char **argv)
{
	NEED(argc == 2 && !chdir(argv[1]));
	int fd = make("short"), status;
	put(fd, "first", 100);
	put(fd, "last", 10 * PART);
	const char *p = map(fd, LONG);
	printf("%s %s\n", p + 100, p + 10 * PART);
	put(fd, "grown", 30 * PART);
	printf("%s\n", p + 30 * PART);
	NEED(!ftruncate(fd, PART) && !ftruncate(fd, 40 * PART));
	printf("%s, %d %d\n", p + 100, p[10 * PART], p[30 * PART]);
	put(fd, "again", 20 * PART);
	const pid_t child = fork();
	if (!child) {
		printf("%s\n", p + 20 * PART);
		return fflush(stdout);
	}
	NEED(waitpid(child, &status, 0) == child && !status);

	fd = make("hole");
	NEED(!ftruncate(fd, HOLE + PART));
	char *near = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 5 * PART);
	NEED(near != MAP_FAILED);
	strcpy(near, "stored");
	put(fd, "end", HOLE);
	p = map(fd, HOLE + PART);
	printf("%s %s\n", p + 5 * PART, p + HOLE);
	strcpy(near, "more");
	printf("%s\n", p + 5 * PART);
	NEED(!munmap((void *)p, HOLE + PART));
	return 0;
}
