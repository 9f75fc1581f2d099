#include "answer/unknown_calls.h"
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include "space/dirty.h"
#include "image/image.h"
#include "space/cautions.h"
#include "answer/ioctls.h"
#include "answer/unknown_maps.h"

enum { TOLD = 64 };

static struct table pages;
static bool tells;

void unknown_call_before(void)
{
	pages.len = 0;
	tells = !dirty_look(&pages);
	unknown_maps_before(); /* last: what we map for ourselves is not the call's */
}

/* Once for each call, or request of an ioctl. */
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
	caution(tells ? "%s is not known to rdb: its answer, what it mapped and what it wrote to memory are logged, what else "
			"it did%s is not"
		      : "%s is not known to rdb: its answer and what it mapped are logged, what else it did%s is not (this "
			"kernel cannot tell what it wrote to memory)",
		name, shared ? ", and what others write to the memory that it mapped shared," : "");
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
