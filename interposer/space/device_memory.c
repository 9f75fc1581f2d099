#include "space/device_memory.h"
#include "space/device_quiet.h"
#include "space/cautions.h"
#include "base/lower.h"
#include "space/shared_kinds.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UP(x) (((x) + RDB_PAGE - 1) & ~(RDB_PAGE - 1))

enum {
	MUCH = 1 << 30, /* beyond this size nothing is compared */
	TOLD = 64,
};

struct device_table device_table;
unsigned device_regions;

static void insert(unsigned at, const struct device_region *r)
{
	if (device_regions == DEVICE_REGIONS)
		rdb_fatal("more than %d ranges of memory are registered with an RDMA device", DEVICE_REGIONS);
	memmove(&device_table.r[at + 1], &device_table.r[at], (device_regions++ - at) * sizeof(*r));
	device_table.r[at] = *r;
}

static void drop(unsigned at)
{
	munmap(device_table.r[at].shadow, device_table.r[at].end - device_table.r[at].start);
	memmove(&device_table.r[at], &device_table.r[at + 1], (--device_regions - at) * sizeof(device_table.r[0]));
}

static void count(void)
{
	device_table.bytes = device_table.remote_bytes = 0;
	for (unsigned i = 0; i < device_regions; i++) {
		const struct device_region *r = &device_table.r[i];
		device_table.bytes += r->end - r->start;
		device_table.remote_bytes += r->remote_users ? r->end - r->start : 0;
	}
}

/* Index of the first region that ends after `at`. */
static unsigned first_behind(uint64_t at)
{
	unsigned low = 0, high = device_regions;
	while (low < high) {
		unsigned mid = (low + high) / 2;
		if (device_table.r[mid].end > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

bool device_memory_in(uint64_t start, uint64_t end)
{
	const unsigned i = first_behind(start);
	return i < device_regions && device_table.r[i].start < end;
}

/* Splits the region around `at`. */
static void split(uint64_t at)
{
	unsigned i = first_behind(at);
	if (i == device_regions || device_table.r[i].start >= at)
		return;
	struct device_region tail = device_table.r[i];
	tail.shadow += at - tail.start;
	tail.start = device_table.r[i].end = at;
	insert(i + 1, &tail);
}

static void log_line(struct event *ev, const struct device_region *r, uint64_t at)
{
	char now[DEVICE_LINE], *shadow = r->shadow + (at - r->start);
	memcpy(now, (const void *)at, sizeof(now)); /* copied once: the device may write to it meanwhile */
	memcpy(shadow, now, sizeof(now));
	event_chunk_from(ev, at, r->remote_users ? RDB_NOTE_DEVICE : 0, shadow, sizeof(now));
}

static void sync_region(struct event *ev, const struct device_region *r)
{
	for (uint64_t at = r->start; (at = device_differs(r, at, r->end)) < r->end; at += DEVICE_LINE)
		log_line(ev, r, at);
}

/* Can the event have told the program that data has come? */
static bool tells(const struct event *ev)
{
	if (ev->kind == LOG_SYSCALL)
		return shared_call_synchronises(ev, true);
	if (ev->kind != LOG_HYPERCALL || ev->nr >> 16 == RDB_NS_MPI)
		return ev->kind != LOG_TSC;
	return ev->nr >> 16 == RDB_NS_VERBS && ev->result > 0;
}

/* Memory that completions of the present event have reported. */
static struct {
	struct {
		uint64_t start, end;
	} r[TOLD];
	unsigned n;
	bool some, all; /* all: everything, or more than fits here */
} told;

void device_memory_told(void *addr, size_t len)
{
	if (!device_regions)
		return;
	told.some = true;
	if (len == SIZE_MAX || told.n == TOLD) {
		told.all = true;
	} else if (len) {
		told.r[told.n].start = (uint64_t)addr & ~(uint64_t)(DEVICE_LINE - 1);
		told.r[told.n++].end = (uint64_t)addr + len;
	}
}

static void sync_told(struct event *ev)
{
	for (unsigned k = 0; k < told.n; k++)
		for (unsigned i = first_behind(told.r[k].start);
		     i < device_regions && device_table.r[i].start < told.r[k].end; i++) {
			const struct device_region *r = &device_table.r[i];
			uint64_t at = told.r[k].start > r->start ? told.r[k].start : r->start;
			const uint64_t end = told.r[k].end < r->end ? told.r[k].end : r->end;
			for (; (at = device_differs(r, at, end)) < end; at += DEVICE_LINE)
				log_line(ev, r, at);
		}
}

/* True mostly for posts and empty polls, when no other rank can write to memory. */
static bool nothing_to_look_for(const struct event *ev)
{
	return ev->kind == LOG_HYPERCALL && ev->result <= 0 && ev->nr >> 16 == RDB_NS_VERBS && !told.some &&
	       !device_table.remote_bytes && !device_table.wanted && !lower.opt.hash_every;
}

void device_memory_sync(struct event *ev)
{
	if (nothing_to_look_for(ev))
		return;
	if (!event_takes_chunks(ev) && ev->kind != LOG_TSC)
		return;
	const bool hashed = lower.opt.hash_every && (lower.event + 1) % lower.opt.hash_every == 0;
	const bool partly = told.some && !told.all;
	const bool all = hashed || device_table.wanted || (!partly && tells(ev));
	const bool remote = all || partly || device_table.remote_bytes <= DEVICE_SMALL_REMOTE;
	if (!all && partly)
		sync_told(ev);
	told.n = told.some = told.all = 0;
	if (!all && !device_table.remote_bytes)
		return;
	for (unsigned i = 0; i < device_regions; i++)
		if (device_table.r[i].remote_users ? remote : all)
			sync_region(ev, &device_table.r[i]);
	if (all) {
		device_table.settled_at = lower.event + 1;
		device_table.wanted = false;
	}
}

void device_memory_forks_break(void)
{
	device_table.forks_break = true;
}

bool device_memory_may_fork(void)
{
	return !device_table.forks_break || !device_regions;
}

bool device_memory_settled(void)
{
	device_table.wanted = device_table.settled_at != lower.event;
	return !device_table.too_much && !device_table.wanted;
}

const void *device_page(uint64_t at)
{
	unsigned i = first_behind(at);
	if (i == device_regions || device_table.r[i].start > at)
		return NULL;
	return device_table.r[i].shadow + (at - device_table.r[i].start);
}

void device_memory_settle(void)
{
	for (unsigned i = 0; i < device_regions; i++)
		for (uint64_t at = device_table.r[i].start; at < device_table.r[i].end; at += RDB_PAGE)
			if (memcmp((const void *)at, device_page(at), RDB_PAGE))
				memcpy((void *)at, device_page(at), RDB_PAGE);
}

/* Writes to each page as the program would: page tracking (dirty.h) does not see a device's writes. */
static void touch(const struct device_region *r)
{
	for (uint64_t at = r->start; at < r->end; at += RDB_PAGE) {
		volatile char *byte = (volatile char *)at;
		*byte = *byte;
	}
}

static void begin(uint64_t start, uint64_t end, bool remote)
{
	split(start);
	split(end);
	for (uint64_t at = start; at < end;) {
		unsigned i = first_behind(at);
		if (i == device_regions || device_table.r[i].start > at) {
			uint64_t upto = i < device_regions && device_table.r[i].start < end ? device_table.r[i].start
											    : end;
			void *shadow = mmap(NULL, upto - at, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			if (shadow == MAP_FAILED)
				rdb_fatal("out of memory for a copy of %lu bytes that are registered with an RDMA "
					  "device",
					  (unsigned long)(upto - at));
			memcpy(shadow, (const void *)at, upto - at);
			insert(i, &(struct device_region){.start = at, .end = upto, .shadow = shadow});
		}
		device_table.r[i].users++;
		device_table.r[i].remote_users += remote;
		at = device_table.r[i].end;
	}
}

static void end(struct event *ev, uint64_t start, uint64_t end, bool remote)
{
	split(start);
	split(end);
	for (unsigned i = first_behind(start); i < device_regions && device_table.r[i].start < end;) {
		struct device_region *r = &device_table.r[i];
		r->remote_users -= remote && r->remote_users;
		if (--r->users) {
			i++;
			continue;
		}
		/* no later event compares it: what has changed belongs to this event */
		if (memcmp((const void *)r->start, r->shadow, r->end - r->start))
			event_out(ev, (void *)r->start, r->end - r->start);
		touch(r);
		drop(i);
	}
}

/* Memory that was registered at the cut of a restart, before there was a log. */
static struct waiting {
	struct waiting *next;
	void *addr;
	size_t len;
	bool remote;
} * waiting;

static void wait_for_log(void *addr, size_t len, bool remote)
{
	struct waiting *w = malloc(sizeof(*w));
	if (!w)
		rdb_fatal("out of memory for the list of registered memory");
	*w = (struct waiting){waiting, addr, len, remote};
	waiting = w;
}

void device_memory_live(void)
{
	for (struct waiting *w; (w = waiting); free(w)) {
		waiting = w->next;
		device_memory(NULL, w->addr, w->len, w->remote, true);
	}
}

void device_memory(struct event *ev, void *addr, size_t len, bool remote, bool from_now)
{
	uint64_t start = (uint64_t)addr & ~(RDB_PAGE - 1), upto = UP((uint64_t)addr + len);
	if (restarting() && len && from_now)
		wait_for_log(addr, len, remote);
	if (!recording() || !len)
		return;
	if (from_now && (len > MUCH || device_table.bytes + len > MUCH)) {
		if (!device_table.too_much)
			caution("more than %d MiB of memory are registered with an RDMA device: rdb does not record "
				"what the device writes to memory beyond that, and a replay will differ",
				MUCH >> 20);
		device_table.too_much = true;
		return;
	}
	if (from_now && device_table.forks_break && !device_table.said_forks) {
		device_table.said_forks = true;
		rdb_warn("on this kernel (before Linux 5.12) a fork detaches registered memory from its RDMA device: "
			 "rdb takes no checkpoints while memory is registered");
	}
	if (from_now && remote && !device_table.cautioned) {
		device_table.cautioned = true;
		caution("memory at %#lx-%#lx may be written by other ranks over RDMA: a replay may differ from here "
			"on if the program reads such memory between two events",
			(unsigned long)(uint64_t)addr, (unsigned long)((uint64_t)addr + len));
	}
	if (from_now)
		begin(start, upto, remote);
	else
		end(ev, start, upto, remote);
	count();
}

void device_memory_gone(uint64_t start, uint64_t upto)
{
	if (!device_regions)
		return;
	split(start);
	split(upto);
	for (unsigned i = first_behind(start); i < device_regions && device_table.r[i].start < upto;)
		drop(i);
	count();
}

void device_memory_in_child(void)
{
	while (device_regions)
		drop(device_regions - 1);
	count();
}
