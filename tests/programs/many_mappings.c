/* many_mappings KIND N: thousands of mappings, split, moved and given back; prints a sum of what they hold.
 *
 * KIND: private, shared, memfd (of one file, page by page), memfds, file, alias (each page twice), read (only
 * read), end (beyond the end of the file). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };
static char **at;

static void *must(void *p)
{
	if (p == MAP_FAILED) {
		perror("mapping");
		exit(1);
	}
	return p;
}

static int file(const char *name, long pages)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, pages * PAGE)) {
		perror(name);
		exit(1);
	}
	return fd;
}

static uint64_t sum(long n)
{
	uint64_t s = 0;
	for (long i = 0; i < n; i++)
		if (at[i])
			s = s * 31 + (unsigned char)at[i][0] + (unsigned char)at[i][PAGE + 1];
	return s;
}

int main(int argc, char **argv)
{
	const char *kind = argv[1];
	const long n = atol(argv[2]);
	const int is_private = !strcmp(kind, "private"), is_end = !strcmp(kind, "end"), reads = !strcmp(kind, "read");
	int flags = is_private || is_end ? MAP_PRIVATE : MAP_SHARED, fd = -1;
	long step = 2;
	at = calloc((size_t)n, sizeof(*at));
	if (is_private || !strcmp(kind, "shared"))
		flags |= MAP_ANONYMOUS;
	else if (!strcmp(kind, "memfd"))
		fd = memfd_create("one", 0);
	else if (!strcmp(kind, "alias"))
		fd = memfd_create("alias", 0);
	else if (strcmp(kind, "memfds"))
		fd = file(argv[3], is_end ? 1 : 2 * n);
	if (!strcmp(kind, "alias"))
		step = 1;
	if (!strcmp(kind, "memfds") || is_end)
		step = 0;
	if (fd >= 0 && !is_end && ftruncate(fd, (step * n + 1) * PAGE))
		return 1;
	if (reads) {
		for (long i = 0; i < n; i++)
			if (pwrite(fd, &i, 1, 2 * i * PAGE) != 1)
				return 1;
		close(fd);
		fd = open(argv[3], O_RDONLY);
	}
	for (long i = 0; i < n; i++) {
		if (!strcmp(kind, "memfds")) {
			fd = memfd_create("each", 0);
			if (ftruncate(fd, 2 * PAGE))
				return 1;
		}
		at[i] = must(
			mmap(NULL, 2 * PAGE, reads ? PROT_READ : PROT_READ | PROT_WRITE, flags, fd, i * step * PAGE));
		if (!strcmp(kind, "memfds"))
			close(fd);
		if (!reads)
			at[i][0] = (char)(i * 7);
	}
	printf("%s %016lx\n", kind, sum(is_end ? 0 : n));
	fflush(stdout);
	for (long i = 0; i < n; i += 4) { /* split */
		if (mprotect(at[i], PAGE, PROT_READ))
			return 1;
		if (i + 1 < n && munmap(at[i + 1] + PAGE, PAGE))
			return 1;
		if (i + 2 < n) {
			munmap(at[i + 2], 2 * PAGE);
			at[i + 2] = NULL;
		}
		if (i + 3 < n && !is_end && !reads)
			at[i + 3] = must(mremap(at[i + 3], 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE));
		if (i + 1 < n)
			at[i + 1] = NULL;
	}
	printf("%016lx\n", sum(is_end ? 0 : n));
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		if (at[n / 4 * 4 - 1] && !is_end && !reads)
			at[n / 4 * 4 - 1][1] = 1;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf("%016lx\n", sum(is_end ? 0 : n));
	return 0;
}
