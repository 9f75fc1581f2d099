#include <sys/stat.h>
#include "base/fnv.h"
#include "space/shared_memory.h"
#include "space/shared_outsiders.h"
#include "space/shared_shadows.h"
#include "space/shared_sync.h"
#include "space/shared_turns.h"

static const uint64_t SOON_NS = 50 * 1000000ul; /* time from a fork to the first check for relatives */

static void turns_due(void)
{
	SPANS_EACH(struct region, r, &region_table)
	sharing.keys_due |= region_takes_turns(r);
}

void shared_before_fork(void)
{
	sharing.forked = sharing.relatives = true;
	turns_due();
	sharing.wait_ns = SOON_NS;
	sharing.look_ns = shared_clock_ns() + SOON_NS;
	if (!recording())
		return;
	SPANS_EACH(struct region, r, &region_table)
	{
		if (!r->shadow && !r->seen)
			region_copy(r, -1, NULL);
		region_caution(r);
	}
}

bool shared_forked(void)
{
	turns_due();
	return sharing.keys_due;
}

void shared_in_child(void)
{
	outsiders_in_child();
	SPANS_EACH(struct region, r, &region_table)
	{
		r->cautioned = false;
		region_caution(r);
		if (!r->seen)
			region_copy(r, -1, NULL);
	}
}

static uint64_t key(uint64_t dev, uint64_t ino)
{
	return fnv1a(fnv1a(FNV_BEGIN, &dev, sizeof(dev)), &ino, sizeof(ino)) | 1;
}

static bool recorded_with_others(void)
{
	return recording() && lower.started && shared_has_relatives();
}

uint64_t shared_key_of_segment(int id, size_t len)
{
	return recorded_with_others() && shared_takes_turns(SHARED_SYSV, len) ? key(0, (uint64_t)id) : 0;
}

uint64_t shared_key_of_file(int fd)
{
	struct stat st;
	const bool turns = recorded_with_others() && shared_volatile(fd) && !fstat(fd, &st) &&
			   shared_takes_turns(shared_kind_of(fd), (uint64_t)st.st_size);
	return turns ? key(st.st_dev, st.st_ino) : 0;
}

unsigned shared_keys(uint64_t *keys, unsigned most)
{
	unsigned n = 0;
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (const struct region *r = shared_of_kind[kind].first; r && n < most; r = r->next)
			if (region_takes_turns(r)) /* without a file: the kernel's number, in System V memory the id */
				keys[n++] = r->file_ino ? key(r->file_dev, r->file_ino) : key(0, r->ino);
	sharing.keys_due = false;
	return n;
}

bool shared_keys_due(void)
{
	return sharing.keys_due;
}

void shared_settle(void)
{
	if (sharing.others_ran)
		return; /* the program has not run since, and what they stored is still to be logged */
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (struct region *r = shared_of_kind[kind].first; r; r = r->next)
			if (region_takes_turns(r))
				region_refresh(r);
}

void shared_others_ran(void)
{
	sharing.others_ran = true;
}
