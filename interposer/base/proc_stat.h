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

struct process_now {
	char state; /* as in proc_pid_stat(5); 0: unknown */
	unsigned long user_ticks, system_ticks;
	long threads;
};

static inline struct process_now process_now(uint32_t pid)
{
	struct process_now now = {0};
	char name[16], text[1024];
	snprintf(name, sizeof(name), "%u", pid);
	const char *fields = proc_stat(name, text, sizeof(text));
	if (!fields || sscanf(fields, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %ld",
			      &now.state, &now.user_ticks, &now.system_ticks, &now.threads) != 4)
		now.state = 0;
	return now;
}

/* A zombie without threads has ended.  One whose first thread alone has ended has others. */
static inline bool process_ended(uint32_t pid)
{
	if (!pid || raw_syscall(SYS_kill, pid, 0, 0, 0, 0, 0) == -ESRCH)
		return true;
	const struct process_now now = process_now(pid);
	return (now.state == 'Z' || now.state == 'X') && now.threads <= 1;
}
