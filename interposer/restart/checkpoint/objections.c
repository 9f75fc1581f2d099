#include "restart/checkpoint/objections.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "answer/process.h"
#include "crossing/boundary.h"
#include "restart/checkpoint/ipc_objects.h"
#include "restart/files/kernel_files.h"
#include "restart/memory/own_shared.h"
#include "restart/process/identity.h"
#include "restart/process/posix_timers.h"
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "task/thread.h"

enum { CHILDREN_S = 5 };

static char why[320];

static bool waited_for(long type, long pid)
{
	siginfo_t info;
	return raw_syscall(SYS_waitid, type, pid, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) != -ECHILD;
}

/* Names a child, from proc(5), children, of each thread. Processes that write images are no children of the
 * program. */
static const char *child(void)
{
	char path[64], pids[2048], name[32];
	snprintf(why, sizeof(why), "it has child processes");
	for (const struct thread *t = threads_first(); t; t = t->next) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/children", t->carrier);
		descriptor_text(path, pids, sizeof(pids));
		char *end, *at = pids;
		for (long pid; (pid = strtol(at, &end, 10)) > 0 && end > at; at = end) {
			if (!waited_for(P_PID, pid))
				continue;
			snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
			descriptor_text(path, name, sizeof(name));
			name[strcspn(name, "\n")] = 0;
			snprintf(why, sizeof(why), "it has a child process, %ld (%s)", pid, name);
			return why;
		}
	}
	return why;
}

/* Is PID a process of this rank, but neither its child nor a process that writes an image?  rdb-exec has been told the
 * rank's directory (--dir), also for what a child has executed.  `name` is what ps(1) calls it. */
static bool left_behind(const char *pid, char name[32])
{
	char path[300], text[8192], *end = text;
	long parent = lower.pid;
	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	const int fd = descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	for (bool dir = false; end < text + n; end += strlen(end) + 1) {
		if (dir && !strcmp(end, lower.opt.dir))
			break;
		dir = !strcmp(end, "--dir");
	}
	if (end >= text + n)
		return false;
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	descriptor_text(path, text, sizeof(text));
	end = strrchr(text, ')');
	if (!end || sscanf(end, ") %*c %ld", &parent) != 1 || parent == lower.pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	descriptor_text(path, name, 32);
	name[strcspn(name, "\n")] = 0;
	return true;
}

/* Daemons and the like: their parent has ended, so nobody waits for them. */
static const char *orphans(void)
{
	char name[32];
	DIR *all = process_children() ? opendir("/proc") : NULL;
	const char *found = NULL;
	for (const struct dirent *e; all && !found && (e = readdir(all));) {
		const long pid = strtol(e->d_name, NULL, 10);
		if (pid <= 0 || pid == lower.pid || !left_behind(e->d_name, name))
			continue;
		snprintf(why, sizeof(why), "a process that it has started goes on without its parent, %ld (%s)", pid,
			 name);
		found = why;
	}
	if (all)
		closedir(all);
	return found;
}

bool objections_may_pass(uint64_t generation)
{
	static uint64_t of, until_ns;
	if (!waited_for(P_ALL, 0))
		return false;
	if (of != generation) {
		of = generation;
		until_ns = monotonic_ns() + CHILDREN_S * 1000000000ull;
	}
	return monotonic_ns() < until_ns;
}

const char *objections(void)
{
	static struct posix_timer timers[POSIX_TIMERS];
	if (thread_self()->gate.upcall_sp)
		return "it is inside a callback from a library";
	if (waited_for(P_ALL, 0))
		return child();
	const char *refused = identity_refuses();
	if (refused)
		return refused;
	if (posix_timers_look(timers, POSIX_TIMERS) < 0)
		return "the kernel does not list its timers of timer_create(2)";
	const struct stat *nameless;
	refused = own_shared_refuses();
	if (!refused)
		refused = kernel_files_look();
	for (unsigned i = 0; !refused && (nameless = kernel_files_nameless(&i));)
		if (own_shared_has(nameless))
			refused = "it has mapped a file without a name, which it has also open";
	if (!refused)
		refused = ipc_objects_refuse();
	if (!refused)
		refused = orphans();
	return refused ? refused : host_coordinated_refuses();
}
