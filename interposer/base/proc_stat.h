/* proc(5), /proc/pid/stat. */
#pragma once
#include <stdio.h>
#include <string.h>
#include "base/descriptors.h"

/* Its text from behind the program's name, which may hold any character: " STATE PARENT ...".  NULL: the process is
 * gone, or its file cannot be read.  `pid` may be "self". */
static inline const char *proc_stat(const char *pid, char *text, size_t size)
{
	char path[300];
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	descriptor_text(path, text, size);
	const char *name_end = strrchr(text, ')');
	return name_end ? name_end + 1 : NULL;
}
