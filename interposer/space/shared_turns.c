#include <string.h>
#include <sys/stat.h>
#include "space/cautions.h"
#include "space/floors.h"
#include "space/shared_memory.h"
#include "space/shared_outsiders.h"
#include "space/shared_shadows.h"
#include "space/shared_sync.h"
#include "space/shared_turns.h"

enum { WRITTEN = 256 };
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

static bool recorded_with_others(void)
{
	return recording() && lower.started && shared_has_relatives();
}

uint64_t shared_key_of_segment(int id, size_t len)
{
	return recorded_with_others() && shared_takes_turns(SHARED_SYSV, len) ? floor_key(0, (uint64_t)id) : 0;
}

uint64_t shared_key_of_file(int fd)
{
	struct stat st;
	const bool turns = recorded_with_others() && !fstat(fd, &st) &&
			   shared_takes_turns(shared_kind_of(fd), (uint64_t)st.st_size);
	return turns ? floor_key(st.st_dev, st.st_ino) : 0;
}

/* Files that others have mapped and this process writes to.  Until it ends: it may have them open in many ways. */
static struct {
	uint64_t keys[WRITTEN];
	unsigned n;
} written;

bool shared_writes_to(const struct stat *st)
{
	static bool said;
	const uint64_t key = floor_key(st->st_dev, st->st_ino);
	if (!recorded_with_others())
		return false;
	for (unsigned i = 0; i < written.n; i++)
		if (written.keys[i] == key)
			return false;
	if (written.n == WRITTEN) {
		if (!said)
			caution("the program writes to more than %d files that processes of its rank have mapped: a "
				"replay of these may differ",
				WRITTEN);
		said = true;
		return false;
	}
	written.keys[written.n++] = key;
	return true;
}

unsigned shared_keys(uint64_t *keys, unsigned most)
{
	unsigned n = written.n < most ? written.n : most;
	memcpy(keys, written.keys, n * sizeof(*keys));
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (struct region *r = shared_of_kind[kind].first; r && n < most; r = r->next) {
			r->held = region_takes_turns(r);
			if (r->held) /* without a file: the kernel's number, in System V memory the id */
				keys[n++] = r->file_ino ? floor_key(r->file_dev, r->file_ino) : floor_key(0, r->ino);
		}
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
			if (r->held)
				region_refresh(r);
}

void shared_others_ran(void)
{
	sharing.others_ran = true;
}
