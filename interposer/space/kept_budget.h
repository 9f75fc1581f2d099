/* Counts the bytes of files that all processes of a job on this host keep beside their logs, against the limit of rdb
 * run --kept-budget. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/lower.h"

/* The directory of the job. */
static inline void kept_job(char *out, size_t size)
{
	const char *end = strrchr(lower.opt.files_dir, '/');
	snprintf(out, size, "%.*s", end ? (int)(end - lower.opt.files_dir) : 0, lower.opt.files_dir);
}

/* Takes `bytes` from the budget, if there is one, or gives them back if negative. *kept: without a
 * budget, the bytes that all processes keep now; -1 with a budget or if unknown.  False: too much is asked, or counting
 * failed; nothing was taken. */
static inline bool kept_budget(int64_t bytes, int64_t *kept)
{
	char job[4096], path[4096 + 32], text[32];
	*kept = -1;
	kept_job(job, sizeof(job));
	snprintf(path, sizeof(path), "%s/kept-budget", job);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	const bool bounded = fd >= 0;
	if (!bounded && fd != -ENOENT)
		return false;
	const ssize_t n = bounded ? read(fd, text, sizeof(text) - 1) : 0;
	if (bounded)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	const int64_t limit = bounded ? strtoll(text, NULL, 10) : INT64_MAX;
	snprintf(path, sizeof(path), "%s/kept-bytes", job);
	fd = descriptor_open(AT_FDCWD, path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return !bounded;
	struct stat st;
	const bool sized = !fstat(fd, &st) && (st.st_size || (!fchmod(fd, 0600) && !ftruncate(fd, sizeof(limit))));
	int64_t *count = sized ? mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	close(fd);
	if (count == MAP_FAILED)
		return !bounded;
	const int64_t all = __atomic_add_fetch(count, bytes, __ATOMIC_RELAXED);
	const bool fits = all <= limit || bytes < 0;
	if (!fits)
		__atomic_sub_fetch(count, bytes, __ATOMIC_RELAXED);
	munmap(count, sizeof(*count));
	*kept = bounded ? -1 : all;
	return fits;
}
