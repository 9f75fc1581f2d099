#include "base/descriptor_table.h"
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptors.h"

/* fs/file.c: a table without further memory; others are powers of two */
enum { EMBEDDED = 64 };

static int length = EMBEDDED;

static int length_for(int highest)
{
	int n = EMBEDDED;
	while (n <= highest)
		n *= 2;
	return n;
}

/* "FDSize:	256" */
static int number_behind(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	int n = 0;
	for (at += at ? strlen(name) : 0; at && (*at == '\t' || (*at >= '0' && *at <= '9')); at++)
		n = *at == '\t' ? 0 : n * 10 + (*at - '0');
	return n;
}

void descriptor_table_begin(void)
{
	char text[4096];
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	const int now = number_behind(text, "FDSize:");
	if (now > EMBEDDED && now <= lower.lowest_fd) /* else the program before had rdb's descriptors in it */
		length = now;
}

/* The highest descriptor of the program; -1: none. */
static int highest(void)
{
	char entries[4096];
	int found = -1;
	long n;
	const int list = descriptor_open(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (list < 0)
		return descriptors_highest(lower.lowest_fd - 1);
	while ((n = raw_syscall(SYS_getdents64, list, (long)entries, sizeof(entries), 0, 0, 0)) > 0)
		for (long at = 0; at < n;) {
			uint16_t size;
			int fd = 0;
			memcpy(&size, entries + at + 16, sizeof(size));
			for (const char *c = entries + at + 19; *c >= '0' && *c <= '9'; c++)
				fd = fd * 10 + (*c - '0');
			if (fd > found && fd != list && !descriptor_is_ours(fd))
				found = fd;
			at += size;
		}
	raw_syscall(SYS_close, list, 0, 0, 0, 0, 0);
	return found;
}

void descriptor_table_in_child(void)
{
	length = EMBEDDED;
}

int descriptor_table(void)
{
	const int now = length_for(highest());
	if (now > length)
		length = now;
	return length;
}
