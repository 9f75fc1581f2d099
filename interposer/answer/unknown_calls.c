#include "answer/unknown_calls.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include "space/dirty.h"
#include "image/image.h"
#include "space/cautions.h"
#include "answer/ioctls.h"
#include "answer/unknown_maps.h"

enum { TOLD = 128 };

static struct table pages;
static bool tells;

void unknown_call_before(void)
{
	pages.len = 0;
	tells = !dirty_look(&pages);
	unknown_maps_before(); /* last, so that our own mappings are not taken for the call's */
}

/* True the first time for each call, row of the table, or request of an ioctl. */
static bool is_news(uint64_t what)
{
	static uint64_t told[TOLD];
	static unsigned n;
	for (unsigned i = 0; i < n; i++)
		if (told[i] == what)
			return false;
	if (n == TOLD)
		return false;
	told[n++] = what;
	return true;
}

static void warn(const struct event *ev, bool shared)
{
	char name[64];
	const bool ioctl = ev->nr == SYS_ioctl;
	if (!is_news(ioctl ? ev->args[1] << 32 | SYS_ioctl : ev->nr))
		return;
	if (ioctl)
		snprintf(name, sizeof(name), "ioctl request %#x", (unsigned)ev->args[1]);
	else
		snprintf(name, sizeof(name), "system call %u", ev->nr);
	caution(tells ? "%s is not known to rdb: its result, its new mappings and its writes to memory are logged; "
			"other effects%s are not"
		      : "%s is not known to rdb: its result and its new mappings are logged; other effects%s are not "
			"(this kernel cannot tell what it wrote to memory)",
		name, shared ? ", and what other processes write to memory that it mapped shared," : "");
}

void unknown_call_after(struct event *ev)
{
	if (ev->result == -ENOSYS)
		return;
	pages.len = 0;
	const bool shared = unknown_maps_after(ev, !tells);
	tells = tells && !dirty_look(&pages);
	warn(ev, shared);
	for (size_t at = 0; tells && at < pages.len; at += sizeof(struct dirty_range)) {
		const struct dirty_range *d = (const void *)(pages.base + at);
		if (may_be_read(d->start, d->end - d->start))
			event_out(ev, (void *)d->start, d->end - d->start);
	}
}

static void refused(const char *name, int error, const char *why)
{
	caution("%s cannot be recorded: it fails with \"%s\", and the program may behave differently than without "
		"rdb: %s",
		name, strerror(error), why);
}

void refused_call(const struct row *row)
{
	if (!row->quiet && lower.started && is_news((uint64_t)(uintptr_t)row))
		refused(row->name, row->error, row->why);
}

void refused_unknown(unsigned nr)
{
	char name[32];
	snprintf(name, sizeof(name), "system call %u", nr);
	if (lower.started && is_news(nr))
		refused(name, ENOSYS, "rdb does not know it; with --lax it is made");
}

void refused_request(const char *call, uint32_t nr, unsigned request, int error, const char *why)
{
	char name[48];
	snprintf(name, sizeof(name), "%s %#x", call, request);
	if (lower.started && is_news((uint64_t)request << 32 | nr))
		refused(name, error, why);
}

void refused_prctl(unsigned option, const char *why)
{
	char name[32];
	snprintf(name, sizeof(name), "prctl option %u", option);
	if (lower.started && is_news((uint64_t)option << 32 | SYS_prctl))
		refused(name, EINVAL, why);
}
