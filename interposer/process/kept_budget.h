/* How many bytes of files all processes of a job on this host may keep beside their logs (rdb run --kept-budget). */
#ifndef RDB_KEPT_BUDGET_H
#define RDB_KEPT_BUDGET_H
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* JOB: its directory.  Takes so many bytes of the budget, or gives them back.  False: that is more than is left, or it cannot
 * be counted; nothing was taken then. */
static inline bool kept_budget(const char *job, int64_t bytes)
{
	char path[4096 + 32], text[32];
	snprintf(path, sizeof(path), "%s/kept-budget", job);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT; /* it has none */
	const ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = 0;
	const int64_t limit = strtoll(text, NULL, 10);
	snprintf(path, sizeof(path), "%s/kept-bytes", job);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	const bool sized = !fchmod(fd, 0600) && !ftruncate(fd, sizeof(limit));
	int64_t *count = sized ? mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	close(fd);
	if (count == MAP_FAILED)
		return false;
	const bool fits = __atomic_add_fetch(count, bytes, __ATOMIC_RELAXED) <= limit || bytes < 0;
	if (!fits)
		__atomic_sub_fetch(count, bytes, __ATOMIC_RELAXED);
	munmap(count, sizeof(*count));
	return fits;
}

#endif
