#include "restart/checkpoint/objections.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
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
	return refused ? refused : host_coordinated_refuses();
}
