#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "memory/cautions.h"
#include "process/descriptors.h"
#include "boundary/lower.h"

void caution(const char *fmt, ...)
{
	char path[4200], line[1024];
	va_list ap;
	if (lower.mode != MODE_RECORD)
		return;
	size_t n = (size_t)snprintf(line, sizeof(line), "event %lu: ", (unsigned long)lower.event + 1);
	va_start(ap, fmt);
	n += (size_t)vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	snprintf(path, sizeof(path), "%s/cautions", lower.opt.dir);
	int fd = descriptor_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, n) != (ssize_t)n)
		rdb_warn("%s cannot be written; what it would say: %.*s", path, (int)n - 1, line);
	if (fd >= 0)
		close(fd);
}
