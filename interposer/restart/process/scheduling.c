#include "restart/process/scheduling.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "answer/process.h"
#include "base/descriptors.h"
#include "task/thread.h"

enum { THREADS = 4096, MASK_BYTES = 128, AFFINITY = 1, POLICY = 2, NICE = 4, PARAM = 8, MORE = 16, IO = 32, OOM = 64 };

#define OOM_FILE "/proc/self/oom_score_adj"
enum { IO_PROCESS = 1 }; /* ioprio_set(2), IOPRIO_WHO_PROCESS */

/* What one thread has asked for; tid: as the program knows it. */
struct asked {
	int32_t tid;
	uint32_t what, mask_len; /* PARAM: a priority in whatever policy it has; MORE: what is not kept */
	int32_t policy, priority, nice;
	int32_t io;  /* ioprio_set(2) */
	int32_t oom; /* proc_pid_oom_score_adj(5), of the process; without a log */
	uint8_t mask[MASK_BYTES];
};

static struct {
	struct asked list[THREADS];
	size_t n;
	bool begun, inherited;
	struct asked given; /* what the launcher has given the process */
} all;

static void begin(void)
{
	if (!all.begun)
		all.n = branch_file_load("scheduling", all.list, sizeof(all.list), sizeof(*all.list)) /
			sizeof(*all.list);
	all.begun = true;
}

static struct asked *of(uint64_t tid, bool make)
{
	const int32_t number = (int32_t)tid ? (int32_t)tid : thread_self()->upper.tid;
	for (size_t i = 0; i < all.n; i++)
		if (all.list[i].tid == number)
			return &all.list[i];
	if (!make)
		return NULL;
	if (all.n == THREADS)
		live_refuse("more than %d of its threads have their own CPU affinity or scheduling policy", THREADS);
	all.list[all.n] = (struct asked){.tid = number};
	return &all.list[all.n++];
}

/* A thread begins with the values of its maker. */
static void inherit(const struct event *ev)
{
	const struct asked *maker = of(0, false);
	if (!maker || process_forks(ev))
		return;
	const struct asked copy = *maker;
	struct asked *made = of((uint64_t)ev->result, true);
	*made = copy;
	made->tid = (int32_t)ev->result;
}

/* sched_setattr(2).  Deadlines and bounds of utilization are not kept. */
static void attributes_asked(struct asked *one, uint64_t at)
{
	enum { RESET_ON_FORK = 1, KEEP_POLICY = 8, KEEP_PARAMS = 16, UTIL = 32 + 64 };
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
	} a;
	memcpy(&a, (const void *)at, sizeof(a)); /* the first 48 bytes are in every version */
	const bool keeps = a.flags & KEEP_PARAMS;
	const int32_t policy = a.flags & KEEP_POLICY ? one->policy : (int32_t)a.policy;
	if (!(a.flags & KEEP_POLICY) && policy != SCHED_DEADLINE) {
		one->what |= POLICY;
		one->policy = policy | (a.flags & RESET_ON_FORK ? SCHED_RESET_ON_FORK : 0);
	}
	if (!keeps && (policy == SCHED_OTHER || policy == SCHED_BATCH)) {
		one->what |= NICE;
		one->nice = a.nice;
	}
	if (!keeps) {
		one->what |= PARAM;
		one->priority = (int32_t)a.priority;
	}
	if (a.flags & UTIL || policy == SCHED_DEADLINE)
		one->what |= MORE;
}

void scheduling_syscall(const struct event *ev)
{
	struct asked *one;
	begin();
	switch (ev->nr) {
	case SYS_sched_setaffinity:
		one = of(ev->args[0], true);
		one->what |= AFFINITY;
		one->mask_len = ev->args[1] < MASK_BYTES ? (uint32_t)ev->args[1] : MASK_BYTES;
		memcpy(one->mask, (const void *)ev->args[2], one->mask_len);
		break;
	case SYS_sched_setscheduler:
	case SYS_sched_setparam:
		one = of(ev->args[0], true);
		one->what |= ev->nr == SYS_sched_setscheduler ? POLICY : PARAM;
		if (ev->nr == SYS_sched_setscheduler)
			one->policy = (int32_t)ev->args[1];
		memcpy(&one->priority, (const void *)ev->args[ev->nr == SYS_sched_setscheduler ? 2 : 1], sizeof(int));
		break;
	case SYS_sched_setattr: attributes_asked(of(ev->args[0], true), ev->args[1]); break;
	case SYS_setpriority:
		if (ev->args[0] == PRIO_PROCESS) {
			one = of(ev->args[1], true);
			one->what |= NICE;
			one->nice = (int32_t)ev->args[2];
		}
		break;
	case SYS_ioprio_set:
		if (ev->args[0] == IO_PROCESS) {
			one = of(ev->args[1], true);
			one->what |= IO;
			one->io = (int32_t)ev->args[2];
		}
		break;
	case SYS_clone:
	case SYS_clone3: inherit(ev); break;
	case SYS_exit:
		one = of(0, false);
		if (one)
			*one = all.list[--all.n];
		break;
	}
}

void scheduling_save(void)
{
	begin();
	if (all.n)
		branch_file_save("scheduling", all.list, all.n * sizeof(*all.list));
}

static int32_t oom_now(void)
{
	char text[16];
	descriptor_text(OOM_FILE, text, sizeof(text));
	return (int32_t)strtol(text, NULL, 10);
}

static long oom_set(int32_t to)
{
	const int fd = descriptor_open(AT_FDCWD, OOM_FILE, O_WRONLY | O_CLOEXEC, 0);
	const long rc = fd < 0 ? fd : dprintf(fd, "%d", to) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Reads what the kernel has now. */
static void look_at(long tid, struct asked *one)
{
	long len = raw_syscall(SYS_sched_getaffinity, tid, MASK_BYTES, (long)one->mask, 0, 0, 0);
	one->mask_len = len > 0 ? (uint32_t)len : 0;
	one->policy = (int32_t)raw_syscall(SYS_sched_getscheduler, tid, 0, 0, 0, 0, 0);
	raw_syscall(SYS_sched_getparam, tid, (long)&one->priority, 0, 0, 0, 0);
	/* getpriority(2): the system call returns 20 minus the nice value */
	one->nice = 20 - (int32_t)raw_syscall(SYS_getpriority, PRIO_PROCESS, tid, 0, 0, 0, 0);
	one->io = (int32_t)raw_syscall(SYS_ioprio_get, IO_PROCESS, tid, 0, 0, 0, 0);
	one->oom = oom_now();
}

void scheduling_begin(void)
{
	if (all.inherited)
		return;
	all.given = (struct asked){0};
	look_at(0, &all.given);
}

bool scheduling_hand_on(int fd)
{
	return write(fd, &all.given, sizeof(all.given)) == (ssize_t)sizeof(all.given);
}

bool scheduling_inherit(int fd)
{
	all.inherited = read(fd, &all.given, sizeof(all.given)) == (ssize_t)sizeof(all.given);
	return all.inherited;
}

int scheduling_look(struct table *out)
{
	int rc = 0;
	for (const struct thread *t = threads_first(); t && !rc; t = t->next) {
		struct asked one = {.tid = t->upper.tid};
		look_at((long)threads_number_now((uint64_t)(int64_t)one.tid), &one);
		if (one.mask_len != all.given.mask_len || memcmp(one.mask, all.given.mask, one.mask_len) != 0)
			one.what |= AFFINITY;
		if (one.policy != all.given.policy || one.priority != all.given.priority)
			one.what |= POLICY;
		if (one.nice != all.given.nice)
			one.what |= NICE;
		if (one.io != all.given.io)
			one.what |= IO;
		if (one.oom != all.given.oom)
			one.what |= OOM;
		if (one.what)
			rc = table_add(out, &one, sizeof(one));
	}
	return rc;
}

void scheduling_left(void)
{
	struct table differ = {0};
	if (all.inherited && !scheduling_look(&differ) && differ.len)
		recording_file_save("scheduling", differ.base, differ.len);
	table_drop(&differ);
}

bool scheduling_from(const void *bytes, size_t len)
{
	if (len > sizeof(all.list) || len % sizeof(*all.list))
		return false;
	memcpy(all.list, bytes, len);
	all.n = len / sizeof(*all.list);
	all.begun = true;
	return true;
}

static void say(const char *what, long rc)
{
	if (rc < 0)
		rdb_warn("rank %d: %s cannot be set again on this machine: %s", lower.opt.rank, what,
			 strerror((int)-rc));
}

/* A mask of all processors that there might be means those that exist. */
static bool names_all(const struct asked *one)
{
	for (uint32_t i = 0; i < one->mask_len; i++)
		if (one->mask[i] != 0xff)
			return false;
	return true;
}

void scheduling_restore(void)
{
	for (size_t i = 0; i < all.n; i++) {
		const struct asked *one = &all.list[i];
		const long tid = (long)threads_number_now((uint64_t)(int64_t)one->tid);
		uint8_t now[MASK_BYTES] = {0};
		if (raw_syscall(SYS_sched_getscheduler, tid, 0, 0, 0, 0, 0) < 0)
			continue; /* the thread has ended */
		if (one->what & AFFINITY) {
			long rc = raw_syscall(SYS_sched_setaffinity, tid, one->mask_len, (long)one->mask, 0, 0, 0);
			if (!rc && !names_all(one) &&
			    raw_syscall(SYS_sched_getaffinity, tid, sizeof(now), (long)now, 0, 0, 0) > 0 &&
			    memcmp(now, one->mask, one->mask_len) != 0)
				rc = -ENODEV;
			say("its CPU affinity", rc);
		}
		if (one->what & MORE)
			say("its deadline or utilization clamps", -EOPNOTSUPP);
		if ((one->what & (POLICY | PARAM)) == PARAM)
			say("its priority", raw_syscall(SYS_sched_setparam, tid, (long)&one->priority, 0, 0, 0, 0));
		if (one->what & POLICY)
			say("its scheduling policy and priority",
			    raw_syscall(SYS_sched_setscheduler, tid, one->policy, (long)&one->priority, 0, 0, 0));
		if (one->what & NICE)
			say("its nice values", raw_syscall(SYS_setpriority, PRIO_PROCESS, tid, one->nice, 0, 0, 0));
		if (one->what & IO)
			say("its priority of input and output",
			    raw_syscall(SYS_ioprio_set, IO_PROCESS, tid, one->io, 0, 0, 0));
		if (one->what & OOM)
			say("its " OOM_FILE, oom_set(one->oom));
	}
}
