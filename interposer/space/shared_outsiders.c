#include "space/cautions.h"
#include "space/shared_outsiders.h"
#include "space/shared_sync.h"
#include "space/sole_owner.h"

enum { CAUTIONS = 16 };                                /* number of cautions for single regions */
static const uint64_t OUTSIDERS_NS = 2000 * 1000000ul; /* time from a look to the next */

static unsigned said;
static struct {
	bool due;       /* memory was mapped since the last look */
	uint64_t at_ns; /* the earliest time of the next look, by shared_clock_ns() */
} outsiders;
static const struct region *asked_for;

static bool is_asked_for(uint64_t dev, uint64_t ino)
{
	return asked_for->dev == dev && asked_for->ino == ino;
}

/* Processes that are not recorded, or of other ranks, may have it: they do not take turns with this one. */
static bool may_have_outsiders(const struct region *r)
{
	return (region_contested(r) || (r->kind == SHARED_FILE && !r->follows)) && !r->cautioned &&
	       (sharing.given || lower.opt.no_children || !kind_inherited(r->kind));
}

static void say(struct region *r, const char *whose)
{
	static const char *const names[] = {"anonymous memory", "a file without a name", "a file made to be shared",
					    "System V shared memory", "a file"};
	r->cautioned = true;
	if (said == CAUTIONS)
		caution("more shared memory may be written by processes outside this rank");
	if (++said > CAUTIONS)
		return;
	caution("shared memory at %#lx-%#lx (%s) may be written by %s: a replay may differ from here on if the program "
		"reads it between two events",
		(unsigned long)r->start, (unsigned long)r->end, names[r->kind], whose);
}

static const char outside[] = "processes outside this rank";
static const char too_much[] = "other processes, since more than 1 GiB is shared";

void region_caution(struct region *r)
{
	outsiders.due |= may_have_outsiders(r);
	if (r->mpi_writes && !r->cautioned) {
		r->cautioned = true;
		caution("a file that is mapped at %#lx-%#lx is open for writing through MPI: a replay may differ if "
			"the program reads the mapping before its own write is complete, or while other ranks write",
			(unsigned long)r->start, (unsigned long)r->end);
	}
	if (lower.opt.no_children && may_have_outsiders(r) && kind_inherited(r->kind))
		say(r, outside); /* its children are not recorded, and may have ended when they are looked for */
	if (region_contested(r) && shared_has_relatives() && !region_takes_turns(r) && !r->cautioned)
		say(r, too_much);
}

void shared_has_outsiders(uint64_t start)
{
	struct region *r = recording() ? region_at(start) : NULL;
	if (r && may_have_outsiders(r))
		say(r, outside);
}

static void look_for_outsiders_of(struct region *r)
{
	asked_for = r;
	if (!may_have_outsiders(r))
		return;
	const bool by_turns = region_takes_turns(r);
	if (by_turns ? !sole_writer_by_turns(is_asked_for) : !sole_writer(is_asked_for))
		say(r, by_turns || !shared_has_relatives() ? outside : too_much);
}

static bool is_of_outsiders(uint64_t dev, uint64_t ino, bool by_turns)
{
	const struct object_part all = {dev, ino, 0, UINT64_MAX};
	for (int how = LOOKED_AT; how <= FOLLOWS; how++)
		for (struct region *r = NULL; (r = region_of_object(&all, (enum region_how)how, r));)
			if (may_have_outsiders(r) && region_takes_turns(r) == by_turns)
				return true;
	return false;
}

static bool is_out_of_turn(uint64_t dev, uint64_t ino)
{
	return is_of_outsiders(dev, ino, true);
}

static bool is_without_turns(uint64_t dev, uint64_t ino)
{
	return is_of_outsiders(dev, ino, false);
}

void shared_look_for_outsiders(void)
{
	if (!recording() || !lower.started)
		return;
	outsiders.due = shared_sizes().contested > SHARED_EVERY_EVENT; /* it is not compared at every event */
	outsiders.at_ns = shared_clock_ns() + OUTSIDERS_NS;
	if (sole_writer_by_turns(is_out_of_turn) && sole_writer(is_without_turns))
		return;
	SPANS_EACH(struct region, r, &region_table)
	look_for_outsiders_of(r);
}

void outsiders_before_unmap(struct region *r)
{
	/* ordinary files are mapped and unmapped again and again */
	if (outsiders.due && recording() && (r->kind != SHARED_FILE || shared_clock_ns() > outsiders.at_ns))
		look_for_outsiders_of(r);
}

void outsiders_at_event(void)
{
	if (outsiders.due && shared_clock_ns() > outsiders.at_ns)
		shared_look_for_outsiders();
}

void outsiders_in_child(void)
{
	said = 0;
	outsiders.at_ns = 0;
}
