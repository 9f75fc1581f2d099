#include "live/objections.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "boundary/boundary.h"
#include "live/kernel_files.h"
#include "live/posix_timers.h"
#include "memory/arena.h"
#include "process/descriptors.h"
#include "threads/thread.h"

enum { CHILDREN_S = 5 };

static char why[320];

/* proc(5): as the kernel names the mapping that begins or lies there. */
static const char *named(uint64_t at)
{
	static char line[4300];
	uint64_t from, to;
	int name = 0;
	snprintf(why, sizeof(why), "it has shared memory at %#lx", (unsigned long)at);
	const int fd = descriptor_open(AT_FDCWD, "/proc/self/maps", O_RDONLY, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &name) == 2 && at >= from && at < to) {
			line[strcspn(line, "\n")] = 0;
			snprintf(why, sizeof(why), "it has shared memory: %.240s",
				 strncmp(line + name, "/dev/zero", 9) ? line + name : "anonymous");
		}
	if (f)
		fclose(f);
	return why;
}

static int shared_mapping(const struct mapping *m, void *arg)
{
	uint64_t *at = arg;
	if (!*at && m->shared && !host_together_shares(m->start, m->end))
		*at = m->start;
	return 0;
}

static bool waited_for(long type, long pid)
{
	siginfo_t info;
	return raw_syscall(SYS_waitid, type, pid, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) != -ECHILD;
}

static size_t text_of(const char *path, char *out, size_t room)
{
	const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	const ssize_t n = fd < 0 ? 0 : read(fd, out, room - 1);
	if (fd >= 0)
		close(fd);
	out[n < 0 ? 0 : n] = 0;
	return n < 0 ? 0 : (size_t)n;
}

/* proc(5), children: of each thread; those that write images are no children of the program. */
static const char *child(void)
{
	char path[64], pids[2048], name[32];
	snprintf(why, sizeof(why), "it has child processes");
	for (const struct thread *t = threads_first(); t; t = t->next) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/children", t->carrier);
		text_of(path, pids, sizeof(pids));
		char *end, *at = pids;
		for (long pid; (pid = strtol(at, &end, 10)) > 0 && end > at; at = end) {
			if (!waited_for(P_PID, pid))
				continue;
			snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
			text_of(path, name, sizeof(name));
			name[strcspn(name, "\n")] = 0;
			snprintf(why, sizeof(why), "it has a child process, %ld (%s)", pid, name);
			return why;
		}
	}
	return why;
}

bool objections_may_pass(uint64_t generation)
{
	static uint64_t of, until_s;
	struct timespec ts;
	if (!waited_for(P_ALL, 0))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	if (of != generation) {
		of = generation;
		until_s = (uint64_t)ts.tv_sec + CHILDREN_S;
	}
	return (uint64_t)ts.tv_sec < until_s;
}

const char *objections(void)
{
	static struct posix_timer timers[POSIX_TIMERS];
	uint64_t shared = 0;
	if (thread_self()->gate.upcall_sp)
		return "it is inside a function that a library called";
	if (waited_for(P_ALL, 0))
		return child();
	if (arena_each(shared_mapping, &shared) || shared)
		return named(shared);
	if (posix_timers_look(timers, POSIX_TIMERS) < 0)
		return "the kernel does not say what its timers of timer_create(2) are";
	const char *files = kernel_files_look();
	return files ? files : host_together_refuses();
}
