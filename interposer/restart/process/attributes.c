#include "restart/process/attributes.h"
#include <errno.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "answer/memory_limits.h"
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "task/thread.h"

enum { LIMITS = RLIM_NLIMITS, REAPER = 0, PERSONALITY = -1 };

/* Attributes that prctl(2) sets to a number, and personality(2).  `inherited`: a child has them, too. */
static const struct {
	int option;
	bool inherited;
	const char *what;
} kinds[] = {
	[REAPER] = {PR_SET_CHILD_SUBREAPER, false, "the adoption of its orphans (PR_SET_CHILD_SUBREAPER)"},
	{PR_SET_PDEATHSIG, false, "its parent-death signal (PR_SET_PDEATHSIG)"},
	{PR_SET_NO_NEW_PRIVS, true, "the ban of new privileges (PR_SET_NO_NEW_PRIVS)"},
	{PR_SET_THP_DISABLE, true, "the ban of huge pages (PR_SET_THP_DISABLE)"},
	{PR_SET_TIMERSLACK, true, "its timer slack (PR_SET_TIMERSLACK)"},
	{PERSONALITY, true, "its personality(2)"},
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
	bool session, group; /* it has made them itself */
} all;
static bool begun;

/* On the way to the cut orphans go to the process that they went to in the recording. */
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
	if (!lower.opt.restart)
		return;
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

static void asked(int option, uint64_t value)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i].option == option) {
			all.kind[i].asked = true;
			all.kind[i].value = value;
			if (i == REAPER)
				reaps(value);
		}
}

void attributes_syscall(const struct event *ev)
{
	const uint64_t *a = ev->args;
	attributes_begin();
	switch (ev->nr) {
	case SYS_prctl: asked((int)a[0], a[1]); break;
	case SYS_personality:
		if (a[0] != 0xffffffff) /* else it asks only */
			asked(PERSONALITY, a[0]);
		break;
	case SYS_setsid: all.session = all.group = true; break;
	case SYS_setpgid:
		if (!a[0] || (int32_t)a[0] == lower.upper.pid)
			all.group = !a[1] || (int32_t)a[1] == lower.upper.pid;
		break;
	case SYS_setrlimit: limited(a[0], (const struct rlimit *)a[1]); break;
	case SYS_prlimit64:
		if (!a[0] || (int32_t)a[0] == lower.upper.pid)
			limited(a[1], (const struct rlimit *)a[2]);
		break;
	}
}

bool attributes_session(void)
{
	return all.session;
}

bool attributes_group(void)
{
	return all.group;
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

int attributes_look(struct table *out)
{
	return table_add(out, &all, sizeof(all));
}

bool attributes_from(const void *bytes, uint64_t len)
{
	if (len != sizeof(all))
		return false;
	memcpy(&all, bytes, sizeof(all));
	begun = true;
	return true;
}

void attributes_restore(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		if (all.kind[i].asked &&
		    (kinds[i].option == PERSONALITY ? personality(all.kind[i].value)
						    : prctl(kinds[i].option, all.kind[i].value, 0, 0, 0)) < 0)
			rdb_warn("rank %d: %s cannot be set again: %s", lower.opt.rank, kinds[i].what, strerror(errno));
	for (unsigned i = 0; i < LIMITS; i++) {
		const struct rlimit *now = &all.limit[i].now;
		const long rc = all.limit[i].asked ? memory_limits_set(i, now) : 0;
		if (rc)
			rdb_warn("rank %d: its resource limit %u (setrlimit(2)) cannot be set again on this machine: "
				 "%s",
				 lower.opt.rank, i, strerror((int)-rc));
	}
}
