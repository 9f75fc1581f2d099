#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "log/file_sum.h"
#include "space/cautions.h"
#include "base/private_file.h"
#include "base/lower.h"

enum { LONGEST = 1024 };

/* `line` has room for the checksum at its end. */
static void add(char *line, size_t n)
{
	char path[4200];
	n = checked_line(line, n > LONGEST ? LONGEST : n);
	snprintf(path, sizeof(path), "%s/cautions", lower.opt.dir);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, n) != (ssize_t)n)
		rdb_warn("%s cannot be written; the line for it is: %.*s", path, (int)n - 1, line);
	if (fd >= 0)
		close(fd);
}

void caution(const char *fmt, ...)
{
	char line[LONGEST + CHECKED_LINE_END];
	va_list ap;
	if (!recording())
		return;
	size_t n = (size_t)snprintf(line, sizeof(line), "event %lu: ", (unsigned long)lower.event + 1);
	va_start(ap, fmt);
	n += (size_t)vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	add(line, n);
}

void caution_events(uint64_t from, uint64_t to, const char *text)
{
	char line[LONGEST + CHECKED_LINE_END];
	const size_t n = (size_t)snprintf(line, sizeof(line), "events %lu-%lu: %s", (unsigned long)from,
					  (unsigned long)to, text);
	add(line, n);
}
