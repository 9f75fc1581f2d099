#include "base/trace.h"
#include "base/descriptors.h"
#include "base/lower.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned trace_topics;
static int trace_fd = 2;

static unsigned topics(const char *list)
{
	static const struct {
		const char *name;
		unsigned topic;
	} known[] = {{"event", TRACE_EVENT}, {"mpi", TRACE_MPI}, {"verbs", TRACE_VERBS}};
	unsigned found = 0;
	while (*list) {
		const size_t len = strcspn(list, ",");
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (strlen(known[i].name) == len && !memcmp(list, known[i].name, len))
				found |= known[i].topic;
		list += len + (list[len] == ',');
	}
	return found;
}

void trace_init(void)
{
	const char *list = getenv("RDB_TRACE"), *path = getenv("RDB_TRACE_FILE");
	trace_topics = list ? topics(list) : 0;
	if (!trace_topics)
		return;
	const bool file = path && *path;
	/* the program may close its stderr */
	const int fd = file ? descriptor_open(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
			    : lower_fd(dup(2));
	if (fd >= 0)
		trace_fd = fd;
	else if (file)
		rdb_warn("RDB_TRACE_FILE: %s: %s", path, strerror(-fd));
}

void trace_line(const char *fmt, ...)
{
	char line[512];
	int at = snprintf(line, sizeof(line), "rdb[%d] ", (int)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0));
	va_list ap;
	va_start(ap, fmt);
	at += vsnprintf(line + at, sizeof(line) - (size_t)at, fmt, ap);
	va_end(ap);
	const size_t len = at < (int)sizeof(line) ? (size_t)at : sizeof(line) - 1;
	line[len] = '\n';
	raw_syscall(SYS_write, trace_fd, (long)line, (long)len + 1, 0, 0, 0);
}
