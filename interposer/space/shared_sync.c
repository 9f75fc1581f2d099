#include <string.h>
#include <sys/stat.h>
#include "log/stamp.h"
#include "space/aliases.h"
#include "space/shared_memory.h"
#include "space/shared_outsiders.h"
#include "space/shared_shadows.h"
#include "space/shared_sync.h"
#include "space/sole_owner.h"

enum { FEW_BYTES = 256 };                          /* larger changes are data, not flags that processes wait for */
static const uint64_t LATER_NS = 2000 * 1000000ul; /* longest time between two checks for relatives */

static void log_page(struct event *ev, uint64_t addr, const char *page, char *shadow, bool follows)
{
	size_t first = 0, last = RDB_PAGE - 8;
	while (!memcmp(page + first, shadow + first, 8))
		first += 8;
	while (!memcmp(page + last, shadow + last, 8))
		last -= 8;
	memcpy(shadow + first, page + first, last + 8 - first);
	event_chunk_from(ev, addr + first, RDB_NOTE_SHARED, shadow + first, last + 8 - first);
	if (last - first < FEW_BYTES && !follows)
		lines_keep(addr, shadow);
}

/* MPI may write while the mappings of a file are compared one after the other: all get what the last comparison saw, as
 * in a replay, where they are one page. */
static void seen_last(struct event *ev, const struct region *r, uint64_t off, const char *page)
{
	const struct stat st = {.st_dev = r->file_dev, .st_ino = r->file_ino};
	const uint64_t from = r->offset + off;
	for (struct region *o = NULL; r->mpi_writes && (o = region_of_file(&st, o, from, from + RDB_PAGE));) {
		const uint64_t at = from - o->offset;
		if (o == r || !o->mpi_writes || !memcmp(page, o->shadow + at, RDB_PAGE))
			continue;
		region_shadowed(o, at, RDB_PAGE);
		if (!o->follows || !region_is_own(o, o->start + at))
			log_page(ev, o->start + at, page, o->shadow + at, o->follows);
	}
}

static const struct file_part whole = {0, UINT64_MAX};

/* part: the part of the file to compare. all: log all pages, because the program's own pages in a private mapping may
 * be gone. */
static void sync_region(struct event *ev, struct region *r, struct file_part part, bool all)
{
	bool own[SHADOW_BATCH / RDB_PAGE] = {false};
	uint64_t off = region_touched(r, part.from > r->offset ? (part.from - r->offset) / SHADOW_BATCH * SHADOW_BATCH
							       : 0);
	for (; off < r->end - r->start && r->offset + off < part.to; off = region_touched(r, off + SHADOW_BATCH)) {
		size_t n = region_batch(r, off);
		if (!all && region_same(r, off, n))
			continue;
		region_fetch(r, off, shadow_buffer, n);
		region_shadowed(r, off, n);
		if (r->follows)
			aliases_own_pages(r->start + off, n / RDB_PAGE, own);
		for (size_t p = 0; p < n; p += RDB_PAGE) {
			char *now = (char *)shadow_buffer + p, *shadow = r->shadow + off + p;
			if (own[p / RDB_PAGE])
				continue;
			if (all) {
				memcpy(shadow, now, RDB_PAGE);
				event_chunk_from(ev, r->start + off + p, RDB_NOTE_SHARED, shadow, RDB_PAGE);
			} else if (memcmp(now, shadow, RDB_PAGE)) {
				log_page(ev, r->start + off + p, now, shadow, r->follows);
			}
			seen_last(ev, r, off + p, shadow);
		}
	}
}

struct syncing {
	struct event *ev;
	struct shared_sizes sum;
	const struct stat *wrote; /* the file that the call has written to; NULL: unknown */
	struct file_part part;
};

static void sync_one(const struct syncing *s, struct region *r, bool always)
{
	const bool turn = sharing.others_ran && region_takes_turns(r), any = region_contested(r) || turn;
	sync_region(s->ev, r, always || any ? whole : s->part,
		    r->follows && shared_call_drops_pages(s->ev, r->start, r->end));
	if (any)
		lines_log(s->ev, r);
}

/* Only those that take turns with this process have much memory: their stores come at turns. */
static bool at_turns_only(const struct syncing *s, const struct region *r)
{
	return s->sum.contested > SHARED_EVERY_EVENT && region_contested(r) && !r->cautioned &&
	       shared_has_relatives() && region_takes_turns(r);
}

static void sync_kind(const struct syncing *s, int kind)
{
	const bool always = kind_at_every_event(kind, s->sum), any = kind_contested(kind);
	const bool all = always || ((any || !s->wrote) && shared_call_synchronises(s->ev, any));
	for (struct region *r = all || sharing.mpi_written || sharing.others_ran ? shared_of_kind[kind].first : NULL; r;
	     r = r->next)
		if ((all && !at_turns_only(s, r)) || r->mpi_writes || (sharing.others_ran && region_takes_turns(r)))
			sync_one(s, r, always || r->mpi_writes);
	if (all || !s->wrote)
		return;
	for (struct region *r = NULL; (r = region_of_file(s->wrote, r, s->part.from, s->part.to));)
		if (r->shadow && r->kind == kind && !r->mpi_writes)
			sync_one(s, r, false);
}

void shared_sync_before(struct event *ev)
{
	if (!recording() || !lower.started)
		return;
	shadows_drop_retired();
	if (!shared_regions)
		return;
	const struct shared_sizes now = shared_sizes();
	ev->looks_ns = now.contested ? stamp_at(stamp_counter()) : 0;
	struct stat st;
	const int fd = shared_call_wrote(ev);
	const struct stat *wrote = fd >= 0 && !fstat(fd, &st) ? &st : NULL;
	const struct syncing s = {ev, now, wrote, wrote ? shared_call_part(ev, fd) : whole};
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		sync_kind(&s, kind);
	sharing.others_ran = false;
}

/* A replay makes the program's stores since the last event itself.  The call may undo them, so that no difference would
 * be seen afterwards: log them before. */
void shared_before_write(struct event *ev)
{
	if (!recording() || !lower.started || !shared_regions || !shared_call_synchronises(ev, false))
		return;
	struct stat st;
	const int fd = shared_call_writes_to(ev);
	shadows_drop_retired();
	if (fd >= 0 && !fstat(fd, &st)) {
		const struct file_part part = shared_call_part(ev, fd);
		for (struct region *r = NULL; (r = region_of_file(&st, r, part.from, part.to));)
			if (r->shadow)
				sync_region(ev, r, part, false);
		return;
	}
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (struct region *r = shared_of_kind[kind].first; r; r = r->next)
			sync_region(ev, r, whole, false);
}

static bool is_inheritable(uint64_t dev, uint64_t ino)
{
	const struct object_part all = {dev, ino, 0, UINT64_MAX};
	const struct region *r = region_of_object(&all, LOOKED_AT, NULL);
	if (!r)
		r = region_of_object(&all, FOLLOWS, NULL);
	return r && kind_inherited(r->kind);
}

/* Children that have ended or run another program write no more. Checking saves comparing much memory at every
 * event.  Before its end a child may have stored what the event's comparison has not seen: it is made again. */
static void look_for_relatives(struct event *ev)
{
	const uint64_t bytes = shared_of_kind[SHARED_ANONYMOUS].mapped + shared_of_kind[SHARED_NAMELESS].mapped;
	if (bytes <= SHARED_SMALL || shared_clock_ns() < sharing.look_ns)
		return;
	sharing.relatives = !sole_owner(is_inheritable);
	for (int kind = 0; kind < SHARED_KINDS && !sharing.relatives; kind++)
		for (struct region *r = kind_inherited(kind) ? shared_of_kind[kind].first : NULL; r; r = r->next)
			sync_region(ev, r, whole, false);
	sharing.wait_ns = sharing.wait_ns < LATER_NS ? sharing.wait_ns * 2 : sharing.wait_ns;
	sharing.look_ns = shared_clock_ns() + sharing.wait_ns;
}

void shared_sync(struct event *ev)
{
	if (ev->asked_ns && shared_sizes().contested && shared_clock_ns() > ev->asked_ns + SHARED_QUICK_NS)
		event_note(ev, RDB_NOTE_ASKED, &ev->asked_ns, sizeof(ev->asked_ns));
	if (!shared_call_changes_map(ev))
		shared_sync_before(ev);
	outsiders_at_event();
	if (sharing.relatives && !sharing.given && recording() && lower.started && !shared_call_changes_map(ev))
		look_for_relatives(ev);
	if (!sharing.given && shared_call_gives_away(ev)) {
		sharing.relatives = sharing.given = true;
		sharing.keys_due = shared_has_relatives();
		sole_owner_passed();
		SPANS_EACH(struct region, r, &region_table)
		region_caution(r);
	}
}

bool shared_hashable(void)
{
	return shared_sizes().contested <= SHARED_EVERY_EVENT;
}

bool shared_hashable_at_end(void)
{
	bool known = shared_sizes().contested == 0;
	/* a difference is a store of the program itself or, in a file, of another process */
	for (int kind = 0; kind < SHARED_KINDS; kind++)
		for (struct region *r = shared_of_kind[kind].first; known && r; r = r->next)
			known = region_refresh(r) || kind_inherited(kind);
	return known;
}
