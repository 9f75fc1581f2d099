/* proc(5), /proc/pid/stat. */
#pragma once
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
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

/* As in proc_pid_stat(5); 0: unknown. */
static inline char process_state(uint32_t pid, long *threads)
{
	char name[16], text[1024], state;
	snprintf(name, sizeof(name), "%u", pid);
	const char *fields = proc_stat(name, text, sizeof(text));
	return fields && sscanf(fields, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
				&state, threads) == 2
		       ? state
		       : 0;
}

/* A zombie without threads has ended.  One whose first thread alone has ended has others. */
static inline bool process_ended(uint32_t pid)
{
	long threads;
	if (!pid || raw_syscall(SYS_kill, pid, 0, 0, 0, 0, 0) == -ESRCH)
		return true;
	const char state = process_state(pid, &threads);
	return (state == 'Z' || state == 'X') && threads <= 1;
}
