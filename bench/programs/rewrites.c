/* Writes over files that are there, and appends to one: rewrites LARGE OTHER APPENDED APPENDS.
 * Prints, a line each, what was done, a tab, and the seconds of one of it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PART = 1 << 20, PAGE = 4096, LINE = 64 };

static char bytes[PART];

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* What the first piece costs is a matter of its own. */
static void rewrite(const char *file, const char *what, size_t piece, off_t until)
{
	const double start = now_s();
	struct stat st;
	int fd = open(file, O_RDWR);
	if (fd < 0 || fstat(fd, &st))
		exit(1);
	if (!until)
		until = st.st_size;
	for (off_t at = 0; at < until; at += (off_t)piece)
		if (pwrite(fd, bytes, piece, at) != (ssize_t)piece)
			exit(1);
	close(fd);
	printf("%s\t%.9e\n", what, now_s() - start);
}

static void append(const char *file, int turns)
{
	const double start = now_s();
	int fd = open(file, O_WRONLY | O_APPEND);
	if (fd < 0)
		exit(1);
	for (int i = 0; i < turns; i++)
		if (write(fd, bytes, LINE) != LINE)
			exit(1);
	close(fd);
	printf("append of 64 B\t%.9e\n", (now_s() - start) / turns);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	memset(bytes, 'x', sizeof(bytes));
	rewrite(argv[1], "rewrite", PART, 0);
	rewrite(argv[1], "rewrite again", PART, 0);
	rewrite(argv[2], "4 KiB of a large file", PAGE, PAGE);
	append(argv[3], atoi(argv[4]));
	return 0;
}
