/* proc(5), /proc/pid/stat. */
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/descriptors.h"

/* Its text from behind the program's name, which may hold any character: " STATE PARENT ...".  NULL: the process is
 * gone, or its file cannot be read.  `pid` may be "self". */
static inline const char *proc_stat(const char *pid, char *text, size_t size)
{
	char path[300];
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	const ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	const char *name_end = strrchr(text, ')');
	return name_end ? name_end + 1 : NULL;
}
