#include "restart/attributes.h"
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "restart/branch_file.h"
#include "restart/tree.h"
#include "answer/process.h"
#include "task/thread.h"

enum { LIMITS = RLIM_NLIMITS, REAPER = 0 };

/* prctl(2): a number, by what it is set with; to a child it is not handed on, or it is. */
static const struct {
	int option;
	bool inherited;
	const char *what;
} kinds[] = {
	[REAPER] = {PR_SET_CHILD_SUBREAPER, false, "that it is the parent of its orphans"},
	{PR_SET_PDEATHSIG, false, "the signal that it gets when its parent ends"},
	{PR_SET_NO_NEW_PRIVS, true, "that it gets no new privileges"},
	{PR_SET_THP_DISABLE, true, "that it has no huge pages"},
	{PR_SET_TIMERSLACK, true, "the slack of its timers"},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static struct {
	struct {
		bool asked;
		uint64_t value;
	} kind[KINDS];
	struct {
		bool asked;
		struct rlimit now;
	} limit[LIMITS];
} all;
static bool begun;

/* Orphans on the way are those of whom they were while recording. */
static void reaps(uint64_t value)
{
	if (tree())
		prctl(PR_SET_CHILD_SUBREAPER, value, 0, 0, 0);
}

void attributes_begin(void)
{
	if (begun)
		return;
	begun = true;
	branch_file_load("attributes", &all, sizeof(all), sizeof(all));
	if (all.kind[REAPER].asked)
		reaps(all.kind[REAPER].value);
}

static void limited(uint64_t which, const struct rlimit *now)
{
	if (which >= LIMITS || !now)
		return;
	all.limit[which].asked = true;
	all.limit[which].now = *now;
}

void attributes_syscall(const struct event *ev)
{
	const uint64_t *a = ev->args;
	attributes_begin();
	switch (ev->nr) {
	case SYS_prctl:
		for (unsigned i = 0; i < KINDS; i++)
			if (kinds[i].option == (int)a[0]) {
				all.kind[i].asked = true;
				all.kind[i].value = a[1];
				if (i == REAPER)
					reaps(a[1]);
			}
		break;
	case SYS_setrlimit: limited(a[0], (const struct rlimit *)a[1]); break;
	case SYS_prlimit64:
		if (!a[0] || thread_known_as(threads_find(1), (int32_t)a[0]))
			limited(a[1], (const struct rlimit *)a[2]);
		break;
	}
}

void attributes_in_child(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		all.kind[i].asked &= kinds[i].inherited;
}

bool attributes_hand_on(int fd)
{
	attributes_begin();
	return write(fd, &all, sizeof(all)) == (ssize_t)sizeof(all);
}

bool attributes_inherit(int fd)
{
	begun = true;
	return read(fd, &all, sizeof(all)) == (ssize_t)sizeof(all);
}

void attributes_save(void)
{
	static const typeof(all) none;
	attributes_begin();
	if (memcmp(&all, &none, sizeof(all)) != 0)
		branch_file_save("attributes", &all, sizeof(all));
}

void attributes_restore(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (all.kind[i].asked && prctl(kinds[i].option, all.kind[i].value, 0, 0, 0))
			rdb_warn("rank %d: %s cannot be as it was: %s", lower.opt.rank, kinds[i].what, strerror(errno));
	for (unsigned i = 0; i < LIMITS; i++) {
		const struct rlimit *now = &all.limit[i].now;
		const long rc = all.limit[i].asked ? raw_syscall(SYS_prlimit64, 0, i, (long)now, 0, 0, 0) : 0;
		if (rc)
			rdb_warn("rank %d: its limit %u (setrlimit(2)) cannot be as it was on this machine: %s",
				 lower.opt.rank, i, strerror((int)-rc));
	}
}
