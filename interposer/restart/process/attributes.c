#include "restart/process/attributes.h"
#include <errno.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "answer/limits.h"
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "task/thread.h"

enum { LIMITS = RLIM_NLIMITS, REAPER = 0, PERSONALITY = -1 };

/* Attributes that prctl(2) sets to a number, and personality(2).  `inherited`: a child has them, too. */
static const struct {
	int option, get;
	bool inherited;
	const char *what;
} kinds[] = {
	[REAPER] = {PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER, false,
		    "the adoption of its orphans (PR_SET_CHILD_SUBREAPER)"},
	{PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, false, "its parent-death signal (PR_SET_PDEATHSIG)"},
	{PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, true, "the ban of new privileges (PR_SET_NO_NEW_PRIVS)"},
	{PR_SET_THP_DISABLE, PR_GET_THP_DISABLE, true, "the ban of huge pages (PR_SET_THP_DISABLE)"},
	{PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, true, "its timer slack (PR_SET_TIMERSLACK)"},
	{PERSONALITY, 0, true, "its personality(2)"},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static struct settings {
	struct {
		bool asked;
		uint64_t value;
	} kind[KINDS];
	struct {
		bool asked;
		struct rlimit now;
	} limit[LIMITS];
	bool session, group; /* it has made them itself */
	bool masked;
	uint32_t mask; /* umask(2) */
} all, given;          /* given: what the launcher has given the first program of the process */
static bool begun, inherited;

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
	if (all.masked) /* from here on open_files.c follows it */
		umask(all.mask);
	all.masked = false;
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

static void again(long nr, long asked, const char *what)
{
	const bool has = raw_syscall(asked, 0, 0, 0, 0, 0, 0) == lower.pid;
	const long rc = has ? 0 : raw_syscall(nr, 0, 0, 0, 0, 0, 0);
	if (rc < 0)
		rdb_warn("rank %d: %s cannot be made again: %s", lower.opt.rank, what, strerror((int)-rc));
}

void attributes_relations(void)
{
	if (all.session)
		again(SYS_setsid, SYS_getsid, "its session");
	if (all.group)
		again(SYS_setpgid, SYS_getpgid, "its process group");
}

void attributes_in_child(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		all.kind[i].asked &= kinds[i].inherited;
}

bool attributes_hand_on(int fd)
{
	attributes_begin();
	return write(fd, &all, sizeof(all)) == (ssize_t)sizeof(all) &&
	       write(fd, &given, sizeof(given)) == (ssize_t)sizeof(given);
}

bool attributes_inherit(int fd)
{
	begun = true;
	inherited = read(fd, &all, sizeof(all)) == (ssize_t)sizeof(all) &&
		    read(fd, &given, sizeof(given)) == (ssize_t)sizeof(given);
	return inherited;
}

/* Reads what the kernel has now. */
static void look_at(struct settings *now)
{
	int value = 0;
	for (unsigned i = 0; i < KINDS; i++)
		switch (kinds[i].option) {
		case PR_SET_CHILD_SUBREAPER:
			prctl(PR_GET_CHILD_SUBREAPER, &value);
			now->kind[i].value = (uint64_t)value;
			break;
		case PR_SET_PDEATHSIG:
			prctl(PR_GET_PDEATHSIG, &value);
			now->kind[i].value = (uint64_t)value;
			break;
		case PERSONALITY: now->kind[i].value = (uint64_t)personality(0xffffffff); break;
		default: now->kind[i].value = (uint64_t)prctl(kinds[i].get, 0, 0, 0, 0);
		}
	for (unsigned i = 0; i < LIMITS; i++) {
		struct rlimit *limit = &now->limit[i].now;
		if (getrlimit(i, limit))
			continue;
		limit->rlim_cur = limits_known(limit->rlim_cur);
		limit->rlim_max = limits_known(limit->rlim_max);
	}
	now->mask = (uint32_t)raw_syscall(SYS_umask, 0, 0, 0, 0, 0, 0);
	raw_syscall(SYS_umask, (long)now->mask, 0, 0, 0, 0, 0);
	now->session = getsid(0) == lower.pid;
	now->group = getpgrp() == lower.pid;
}

void attributes_given(void)
{
	if (!inherited)
		look_at(&given);
}

void attributes_left(void)
{
	struct settings now = {0};
	bool any = false;
	if (!inherited)
		return;
	look_at(&now);
	for (unsigned i = 0; i < KINDS; i++)
		any |= now.kind[i].asked = now.kind[i].value != given.kind[i].value;
	for (unsigned i = 0; i < LIMITS; i++)
		any |= now.limit[i].asked = memcmp(&now.limit[i].now, &given.limit[i].now, sizeof(struct rlimit)) != 0;
	now.masked = now.mask != given.mask;
	now.session = now.session && !given.session;
	now.group = now.group && !given.group;
	if (any || now.masked || now.session || now.group)
		recording_file_save("attributes", &now, sizeof(now));
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
		const long rc = all.limit[i].asked ? limits_set(i, now) : 0;
		if (rc)
			rdb_warn("rank %d: its resource limit %u (setrlimit(2)) cannot be set again on this machine: "
				 "%s",
				 lower.opt.rank, i, strerror((int)-rc));
	}
}
