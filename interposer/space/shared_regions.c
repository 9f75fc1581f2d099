#include <stddef.h>
#include "space/rank_dir.h"
#include "space/shared_memory.h"
#include "space/shared_regions.h"

static void later(struct span *s, uint64_t by);
static void added(struct span *s);
static void taken(struct span *s);

struct spans region_table = {.size = sizeof(struct region), .later = later, .added = added, .taken = taken};
/* objects: the kinds of regions of an object have separate trees (in_tree). files: without regions that are `seen`. */
static struct spans objects, files;
struct of_kind shared_of_kind[SHARED_KINDS];
struct sharing sharing;
unsigned shared_regions;

static void later(struct span *s, uint64_t by)
{
	struct region *r = (struct region *)s;
	r->alias += by;
	r->offset += by;
	if (r->shadow)
		r->shadow += by;
}

static void linked(struct region *r)
{
	struct of_kind *k = &shared_of_kind[r->kind];
	k->compared += r->end - r->start;
	r->next = k->first;
	r->link = &k->first;
	if (r->next)
		r->next->link = &r->next;
	k->first = r;
}

static void unlinked(struct region *r)
{
	shared_of_kind[r->kind].compared -= r->end - r->start;
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
}

enum region_how region_how(const struct region *r)
{
	return r->follows ? FOLLOWS : r->seen ? SEEN : LOOKED_AT;
}

static uint64_t in_tree(uint64_t dev, uint64_t ino, enum region_how how)
{
	return span_of_file(dev, ino) ^ (uint64_t)how << 62;
}

void region_listed(struct region *r)
{
	const uint64_t end = r->offset + (r->end - r->start);
	r->of_object = (struct span){.start = r->offset, .end = end, .of = in_tree(r->dev, r->ino, region_how(r))};
	r->of_file = (struct span){.start = r->offset, .end = end, .of = span_of_file(r->file_dev, r->file_ino)};
	spans_add(&objects, &r->of_object);
	if (!r->seen)
		spans_add(&files, &r->of_file);
}

void region_unlisted(struct region *r)
{
	spans_take(&objects, &r->of_object);
	if (!r->seen)
		spans_take(&files, &r->of_file);
}

bool kind_inherited(int kind)
{
	return kind == SHARED_ANONYMOUS || kind == SHARED_NAMELESS;
}

bool kind_contested(int kind)
{
	return kind == SHARED_SYSV || kind == SHARED_NAMED || (sharing.relatives && kind_inherited(kind));
}

/* Can other processes of the rank have memory of this one? */
bool shared_has_relatives(void)
{
	return sharing.forked || rank_dir_below();
}

bool shared_takes_turns(int kind, uint64_t size)
{
	const uint64_t files = kind == SHARED_FILE ? shared_of_kind[kind].compared : 0;
	return (kind_contested(kind) || (kind == SHARED_FILE && shared_has_relatives())) &&
	       (size <= SHARED_SMALL || shared_sizes().contested + files <= SHARED_TURNS);
}

bool region_takes_turns(const struct region *r)
{
	return shared_takes_turns(r->kind, r->end - r->start);
}

static void added(struct span *s)
{
	struct region *r = (struct region *)s;
	shared_regions++;
	shared_of_kind[r->kind].mapped += s->end - s->start;
	sharing.keys_due |= region_takes_turns(r) && shared_has_relatives();
	sharing.mpi_written += r->mpi_writes;
	sharing.followers += r->follows;
	region_listed(r);
	if (r->shadow)
		linked(r);
}

static void taken(struct span *s)
{
	struct region *r = (struct region *)s;
	shared_regions--;
	shared_of_kind[r->kind].mapped -= s->end - s->start;
	sharing.mpi_written -= r->mpi_writes;
	sharing.followers -= r->follows;
	region_unlisted(r);
	if (r->shadow)
		unlinked(r);
}

void region_set_shadow(struct region *r, char *shadow)
{
	if (r->shadow)
		unlinked(r);
	r->shadow = shadow;
	if (shadow)
		linked(r);
}

void region_set_mpi_writes(struct region *r)
{
	sharing.mpi_written += !r->mpi_writes;
	r->mpi_writes = true;
}

/* The next region that shows bytes of [from, to) of that file. */
struct region *region_of_file(const struct stat *st, const struct region *r, uint64_t from, uint64_t to)
{
	struct span *s = r ? (struct span *)&r->of_file : NULL;
	while (st->st_ino && (s = spans_next(&files, s, span_of_file(st->st_dev, st->st_ino), from, to))) {
		struct region *found = (struct region *)((char *)s - offsetof(struct region, of_file));
		if (found->file_ino == st->st_ino && found->file_dev == st->st_dev)
			return found;
	}
	return NULL;
}

struct region *region_of_object(const struct object_part *o, enum region_how wanted, const struct region *r)
{
	struct span *s = r ? (struct span *)&r->of_object : NULL;
	while ((s = spans_next(&objects, s, in_tree(o->dev, o->ino, wanted), o->from, o->to))) {
		struct region *found = (struct region *)((char *)s - offsetof(struct region, of_object));
		if (found->ino == o->ino && found->dev == o->dev && region_how(found) == wanted)
			return found;
	}
	return NULL;
}

/* A region of that sort that shows this page of the same object. */
struct region *region_other_at(const struct region *r, uint64_t offset, enum region_how wanted)
{
	const struct object_part page = {r->dev, r->ino, offset, offset + RDB_PAGE};
	struct region *o = region_of_object(&page, wanted, NULL);
	while (o && o->kind != r->kind)
		o = region_of_object(&page, wanted, o);
	return o;
}

bool region_others_show_all(const struct region *r)
{
	const struct region *o;
	uint64_t at = r->offset;
	while (at < region_offset_end(r) && (o = region_other_at(r, at, LOOKED_AT)))
		at = region_offset_end(o);
	return at >= region_offset_end(r);
}

/* The region that is compared in place of this one at `at`, and the offset in it. */
const struct region *region_looked_at(const struct region *r, uint64_t at, uint64_t *off)
{
	const uint64_t offset = r->offset + (at - r->start);
	const struct region *o = r->seen ? region_other_at(r, offset, LOOKED_AT) : r;
	*off = offset - o->offset;
	return o;
}

bool region_contested(const struct region *r)
{
	return kind_contested(r->kind);
}

struct shared_sizes shared_sizes(void)
{
	struct shared_sizes sum = {0};
	for (int k = 0; k < SHARED_KINDS; k++) {
		sum.all += shared_of_kind[k].compared;
		sum.contested += kind_contested(k) ? shared_of_kind[k].compared : 0;
	}
	return sum;
}

bool kind_at_every_event(int kind, struct shared_sizes sum)
{
	return sum.all <= SHARED_SMALL || (kind_contested(kind) && sum.contested <= SHARED_EVERY_EVENT);
}

bool region_at_every_event(const struct region *r, struct shared_sizes sum)
{
	return r->mpi_writes || kind_at_every_event(r->kind, sum);
}

struct region *region_at(uint64_t addr)
{
	return spans_at(&region_table, addr);
}

bool shared_at(uint64_t addr)
{
	return region_at(addr);
}

bool shared_within(uint64_t start, uint64_t end)
{
	return spans_next(&region_table, NULL, 0, start, end);
}

bool shared_contested(uint64_t start, uint64_t end)
{
	SPANS_IN(struct region, r, &region_table, start, end)
	if (region_contested(r))
		return true;
	return false;
}

int shared_kind_at(uint64_t addr)
{
	const struct region *r = region_at(addr);
	return r ? r->kind : SHARED_FILE;
}

uint64_t shared_followed_until(uint64_t at)
{
	const struct region *r = region_at(at);
	return r && r->follows ? r->end : 0;
}

void shared_note_parts(struct event *ev, uint64_t start, uint64_t end)
{
	SPANS_IN(struct region, r, &region_table, start, end)
	event_note(ev, RDB_NOTE_SHARED, (uint64_t[2]){r->start, r->end}, 16);
}

bool shared_is_followed(const struct stat *st)
{
	return region_of_file(st, NULL, 0, UINT64_MAX);
}

void shared_files_each(void (*fn)(uint64_t dev, uint64_t ino))
{
	SPANS_EACH(struct region, r, &region_table)
	fn(r->file_dev, r->file_ino);
}
