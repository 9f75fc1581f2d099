#include "seek/watch.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "interface/agent.h"
#include "base/descriptors.h"
#include "replay/replay.h"
#include "seek/page_guard.h"
#include "space/aliases.h"
#include "space/upper_memory.h"

#define WATCHES 256
#define CHUNK 4096
#define SLOTS 4

struct watch {
	uint64_t id; /* 0: free */
	uint64_t addr, len;
	uint64_t kind;
	unsigned nslots; /* 0: by its pages, or stepping */
	bool aliased;    /* its bytes have other addresses, too, where the processor does not see stores */
	int fd[SLOTS];
	uint64_t seen[SLOTS]; /* accesses the processor had counted */
	uint64_t hits, hits_event, hits_run;
	size_t known; /* bytes of value that could be read */
	uint8_t *value;
};

static struct watch watches[WATCHES], *top = watches; /* none is in use from `top` on */
static bool hardware, paused;
static bool uncounted;       /* the processor has seen an access that perf has not counted */
static bool planned;         /* the pages to guard have been determined */
static unsigned planned_for; /* aliases_generation at that time */
static bool stepping;        /* they cannot be guarded: step */

static int open_slot(uint64_t addr, uint64_t len, uint64_t kind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		/* x86 cannot watch reads alone (Intel SDM vol. 3, 17.2.4) */
		.bp_type = kind == AGENT_WATCH_WRITE ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW,
		.bp_addr = addr,
		.bp_len = len,
		.sample_period = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sigtrap = 1,
		.remove_on_exec = 1,
	};
	int fd = (int)raw_syscall(SYS_perf_event_open, (long)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);

	return fd < 0 ? fd : descriptor_high(fd);
}

/* Splits the location into aligned pieces. */
static void open_slots(struct watch *w)
{
	uint64_t at = w->addr, end = w->addr + w->len;

	while (at < end && w->len <= SLOTS * 8) {
		uint64_t piece = 8;
		int fd = -1;

		while (at % piece || at + piece > end)
			piece /= 2;
		if (w->nslots < SLOTS)
			fd = open_slot(at, piece, w->kind);
		if (fd < 0) {
			while (w->nslots)
				close(w->fd[--w->nslots]);
			return;
		}
		w->fd[w->nslots++] = fd;
		at += piece;
	}
}

static struct watch *by_id(uint64_t id)
{
	for (unsigned i = 0; i < WATCHES; i++)
		if (watches[i].id == id)
			return &watches[i];
	return NULL;
}

int watch_set(uint64_t id, uint64_t addr, uint64_t len, uint64_t kind)
{
	struct watch *w;
	void *value;

	if (id == 0 || id == AGENT_FOREVER || len == 0 || len > WATCH_MAX || addr + len < addr ||
	    kind > AGENT_WATCH_ACCESS)
		return -EINVAL;
	if (by_id(id))
		return -EEXIST;
	w = by_id(0);
	if (!w)
		return -ENOSPC;
	value = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (value == MAP_FAILED)
		return -ENOMEM;
	w->value = value;
	w->id = id;
	w->addr = addr;
	w->len = len;
	w->kind = kind;
	w->nslots = 0;
	w->hits = w->hits_run = 0;
	open_slots(w);
	planned = false;
	if (w >= top)
		top = w + 1;
	return w->nslots ? 0 : 1;
}

int watch_clear(uint64_t id)
{
	struct watch *w = id ? by_id(id) : NULL;

	if (!w)
		return -ENOENT;
	while (w->nslots)
		close(w->fd[--w->nslots]);
	munmap(w->value, w->len);
	w->id = 0;
	planned = false;
	while (top > watches && !top[-1].id)
		top--;
	return 0;
}

void watch_clear_all(void)
{
	while (top > watches)
		watch_clear(top[-1].id);
}

void watch_forked(void)
{
	hardware = false;
	watch_clear_all();
}

bool watch_any(void)
{
	return top > watches;
}

static bool by_pages(const struct watch *w)
{
	return w->id && (!w->nslots || w->aliased);
}

static int guard_alias(uint64_t addr, uint64_t len, uint64_t at, void *arg)
{
	const struct watch *w = arg;

	return page_guard_add(addr, len, w->kind != AGENT_WATCH_WRITE);
}

bool watch_needs_stepping(void)
{
	if (planned && planned_for == aliases_generation)
		return stepping;
	planned = true;
	planned_for = aliases_generation;
	stepping = false;
	page_guard_begin();
	for (struct watch *w = watches; w < top && !stepping; w++) {
		w->aliased = w->id && aliases_of(w->addr, w->len);
		stepping = by_pages(w) && (page_guard_add(w->addr, w->len, w->kind != AGENT_WATCH_WRITE) < 0 ||
					   aliases_each(w->addr, w->len, guard_alias, w) < 0);
	}
	if (stepping)
		page_guard_begin();
	return stepping;
}

void watch_remapped(uint64_t start, uint64_t end)
{
	for (struct watch *w = watches; w < top; w++)
		if (by_pages(w) && start < w->addr + w->len + RDB_PAGE && w->addr < end + RDB_PAGE)
			planned = false;
}

static uint64_t accesses(struct watch *w, unsigned slot)
{
	uint64_t n = 0;

	return read(w->fd[slot], &n, sizeof(n)) == sizeof(n) ? n : w->seen[slot];
}

/* Has the processor seen an access since the last time we asked?  One that is not counted may be any watchpoint's. */
static bool accessed(struct watch *w)
{
	bool any = uncounted;

	for (unsigned i = 0; i < w->nslots; i++) {
		uint64_t n = accesses(w, i);

		any |= n != w->seen[i];
		w->seen[i] = n;
	}
	return any;
}

void watch_start(bool use_hardware)
{
	hardware = use_hardware;
	paused = true;
	uncounted = false;
	for (struct watch *w = watches; w < top; w++) {
		if (!w->id)
			continue;
		w->known = upper_read(w->addr, w->value, w->len);
		for (unsigned i = 0; hardware && i < w->nslots; i++)
			w->seen[i] = accesses(w, i);
	}
}

static void switch_slots(unsigned long request)
{
	for (struct watch *w = watches; hardware && w < top; w++)
		for (unsigned i = 0; w->id && i < w->nslots; i++)
			ioctl(w->fd[i], request, 0);
}

void watch_stop(void)
{
	page_guard_open();
	switch_slots(PERF_EVENT_IOC_DISABLE);
	hardware = false;
}

bool watch_pause(void)
{
	const bool before = paused;

	if (!paused)
		switch_slots(PERF_EVENT_IOC_DISABLE);
	paused = true;
	return before;
}

void watch_resume(void)
{
	switch_slots(PERF_EVENT_IOC_ENABLE);
	paused = false;
}

bool watch_sees(uint64_t addr, uint64_t len)
{
	for (struct watch *w = watches; hardware && w < top; w++)
		if (w->id && w->nslots && w->kind != AGENT_WATCH_WRITE && addr < w->addr + w->len &&
		    w->addr < addr + len)
			return true;
	return false;
}

/* Compares and remembers what is there now in [from, to).  Through the kernel, so that the watchpoint does not see our
 * read.  Returns true with the first address that changed. */
static bool changed(struct watch *w, uint64_t from, uint64_t to, uint64_t *addr)
{
	uint8_t now[CHUNK];
	bool any = false;

	if (w->known != w->len) { /* part of it was not there */
		from = w->addr;
		to = w->addr + w->len;
	}
	while (from < to) {
		size_t at = from - w->addr, want = to - from < CHUNK ? to - from : CHUNK;
		size_t n = upper_read(from, now, want), common = at < w->known ? w->known - at : 0;
		size_t i = 0;

		if (common > n)
			common = n;
		while (i < common && now[i] == w->value[at + i])
			i++;
		if (!any && (i < common || n > common || (n < want && at + n < w->known))) {
			any = true;
			*addr = from + i;
		}
		memcpy(w->value + at, now, n);
		from += n;
		if (n < want || at + n > w->known)
			w->known = at + n;
		if (n < want)
			break;
	}
	return any;
}

static bool changed_at_all(struct watch *w, uint64_t *addr)
{
	return changed(w, w->addr, w->addr + w->len, addr);
}

static void count(struct watch *w, uint64_t addr, uint64_t event, uint64_t run, bool by_event, struct watch_hit *hit)
{
	if (w->hits_event != event || w->hits_run != run) {
		w->hits = 0;
		w->hits_event = event;
		w->hits_run = run;
	}
	w->hits += !by_event;
	if (!hit->id)
		*hit = (struct watch_hit){w->id, addr, w->hits};
}

/* Which of the instruction's accesses concerns w: bit 0 a read, bit 1 a write, of [*addr, *end). */
static unsigned overlap(const struct watch *w, const struct emulated *did, uint64_t *addr, uint64_t *end)
{
	unsigned kinds = 0;

	*addr = w->addr + w->len;
	*end = w->addr;
	for (unsigned i = 0; i < did->naccess; i++) {
		const struct access *a = &did->access[i];

		if (a->addr >= w->addr + w->len || w->addr >= a->addr + a->len)
			continue;
		kinds |= a->write ? 2 : 1;
		if (a->addr < *addr)
			*addr = a->addr > w->addr ? a->addr : w->addr;
		if (a->addr + a->len > *end)
			*end = a->addr + a->len < w->addr + w->len ? a->addr + a->len : w->addr + w->len;
	}
	return kinds;
}

void watch_check(const struct emulated *did, bool exact, uint64_t event, uint64_t run, struct watch_hit *hit)
{
	hit->id = 0;
	for (struct watch *w = watches; w < top; w++) {
		uint64_t addr = w->addr, end = w->addr;
		unsigned kinds;
		bool touched, differs;

		if (!w->id)
			continue;
		kinds = did ? overlap(w, did, &addr, &end) : 0;
		/* As the processor counts, in both ways of moving: a write of the value that was there already is an
		 * access like a read, so that hits have the same numbers stepped and run. */
		touched = kinds;
		if (!exact && hardware && w->nslots)
			touched = w->kind != AGENT_WATCH_WRITE && accessed(w);
		differs = exact && !w->aliased ? (kinds & 2) && changed(w, addr, end, &addr) : changed_at_all(w, &addr);
		if (w->kind == AGENT_WATCH_WRITE  ? differs
		    : w->kind == AGENT_WATCH_READ ? touched && !differs
						  : touched || differs)
			count(w, addr, event, run, false, hit);
	}
	uncounted = false;
}

void watch_trapped(bool counted)
{
	uncounted = !counted;
}

void watch_check_event(uint64_t event, uint64_t run, struct watch_hit *hit)
{
	hit->id = 0;
	uncounted = false;
	for (struct watch *w = watches; w < top; w++) {
		uint64_t addr = w->addr;
		bool hits;

		if (!w->id)
			continue;
		if (hardware && w->kind != AGENT_WATCH_WRITE)
			accessed(w); /* the lower half's own accesses are not the program's */
		hits = changed_at_all(w, &addr);
		if (w->kind == AGENT_WATCH_READ)
			hits = false;
		else if (w->kind == AGENT_WATCH_ACCESS)
			hits = hits || replay_wrote(w->addr, w->len);
		if (hits)
			count(w, addr, event, run, true, hit);
	}
}
