#include "live/objections.h"
#include <sys/syscall.h>
#include <sys/wait.h>
#include "boundary/boundary.h"
#include "live/kernel_files.h"
#include "live/posix_timers.h"
#include "memory/arena.h"
#include "threads/thread.h"

static int shared_mapping(const struct mapping *m, void *arg)
{
	*(bool *)arg |= m->shared && !host_together_shares(m->start, m->end);
	return 0;
}

static bool has_children(void)
{
	siginfo_t info;
	return raw_syscall(SYS_waitid, P_ALL, 0, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) != -ECHILD;
}

const char *objections(void)
{
	static struct posix_timer timers[POSIX_TIMERS];
	bool shared = false;
	if (thread_self()->gate.upcall_sp)
		return "it is inside a function that a library called";
	if (has_children())
		return "it has child processes";
	if (arena_each(shared_mapping, &shared) || shared)
		return "it has shared memory";
	if (posix_timers_look(timers, POSIX_TIMERS) < 0)
		return "the kernel does not say what its timers of timer_create(2) are";
	const char *why = kernel_files_look();
	return why ? why : host_together_refuses();
}
