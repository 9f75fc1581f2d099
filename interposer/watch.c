#include "watch.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent.h"
#include "lower.h"
#include "upper_memory.h"

#define WATCHES 32
#define SLOTS 4
#define HIGH_FD 700

struct watch {
	uint64_t id; /* 0: free */
	uint64_t addr, len;
	uint64_t kind;
	unsigned nslots; /* 0: slow */
	int fd[SLOTS];
	uint64_t seen[SLOTS]; /* accesses the processor had counted */
	uint64_t hits, hits_event, hits_run;
	size_t known; /* bytes of value that could be read */
	uint8_t value[WATCH_MAX];
};

static struct watch watches[WATCHES];
static bool hardware;

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
	int high;

	if (fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Splits the location into aligned pieces. */
static void open_slots(struct watch *w)
{
	uint64_t at = w->addr, end = w->addr + w->len;

	while (at < end) {
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

	if (id == 0 || id == AGENT_FOREVER || len == 0 || len > WATCH_MAX || addr + len < addr ||
	    kind > AGENT_WATCH_ACCESS)
		return -EINVAL;
	if (by_id(id))
		return -EEXIST;
	w = by_id(0);
	if (!w)
		return -ENOSPC;
	w->id = id;
	w->addr = addr;
	w->len = len;
	w->kind = kind;
	w->nslots = 0;
	w->hits = w->hits_run = 0;
	open_slots(w);
	return w->nslots ? 0 : 1;
}

int watch_clear(uint64_t id)
{
	struct watch *w = id ? by_id(id) : NULL;

	if (!w)
		return -ENOENT;
	while (w->nslots)
		close(w->fd[--w->nslots]);
	w->id = 0;
	return 0;
}

void watch_clear_all(void)
{
	for (unsigned i = 0; i < WATCHES; i++)
		if (watches[i].id)
			watch_clear(watches[i].id);
}

void watch_forked(void)
{
	hardware = false;
	watch_clear_all();
}

bool watch_any(void)
{
	for (unsigned i = 0; i < WATCHES; i++)
		if (watches[i].id)
			return true;
	return false;
}

bool watch_needs_stepping(void)
{
	for (unsigned i = 0; i < WATCHES; i++)
		if (watches[i].id && !watches[i].nslots)
			return true;
	return false;
}

static uint64_t accesses(struct watch *w, unsigned slot)
{
	uint64_t n = 0;

	return read(w->fd[slot], &n, sizeof(n)) == sizeof(n) ? n : w->seen[slot];
}

/* Has the processor seen an access since the last time we asked? */
static bool accessed(struct watch *w)
{
	bool any = false;

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
	for (struct watch *w = watches; w < watches + WATCHES; w++) {
		if (!w->id)
			continue;
		w->known = upper_read(w->addr, w->value, w->len);
		for (unsigned i = 0; hardware && i < w->nslots; i++) {
			ioctl(w->fd[i], PERF_EVENT_IOC_ENABLE, 0);
			w->seen[i] = accesses(w, i);
		}
	}
}

static void switch_slots(unsigned long request)
{
	for (struct watch *w = watches; hardware && w < watches + WATCHES; w++)
		for (unsigned i = 0; w->id && i < w->nslots; i++)
			ioctl(w->fd[i], request, 0);
}

void watch_stop(void)
{
	switch_slots(PERF_EVENT_IOC_DISABLE);
	hardware = false;
}

void watch_pause(void)
{
	switch_slots(PERF_EVENT_IOC_DISABLE);
}

void watch_resume(void)
{
	switch_slots(PERF_EVENT_IOC_ENABLE);
}

/* Compares and remembers the new value.  Through the kernel, lest the look itself be seen.
 * Returns true with the first address that changed. */
static bool changed(struct watch *w, uint64_t *addr)
{
	uint8_t now[WATCH_MAX];
	size_t known = upper_read(w->addr, now, w->len);
	size_t common = known < w->known ? known : w->known;
	size_t i = 0;

	while (i < common && now[i] == w->value[i])
		i++;
	if (i == common && known == w->known)
		return false;
	memcpy(w->value, now, known);
	w->known = known;
	*addr = w->addr + i;
	return true;
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

/* Which of the instruction's accesses concerns w: bit 0 a read, bit 1 a write. */
static unsigned overlap(const struct watch *w, const struct emulated *did, uint64_t *addr)
{
	unsigned kinds = 0;

	for (unsigned i = 0; i < did->naccess; i++) {
		const struct access *a = &did->access[i];

		if (a->addr >= w->addr + w->len || w->addr >= a->addr + a->len)
			continue;
		kinds |= a->write ? 2 : 1;
		*addr = a->addr > w->addr ? a->addr : w->addr;
	}
	return kinds;
}

void watch_check(const struct emulated *did, uint64_t event, uint64_t run, struct watch_hit *hit)
{
	hit->id = 0;
	for (struct watch *w = watches; w < watches + WATCHES; w++) {
		uint64_t addr = w->addr;
		unsigned kinds = 3;
		bool touched, differs;

		if (!w->id)
			continue;
		if (did)
			kinds = overlap(w, did, &addr);
		/* As the processor has it, however we look: a write of the value that was there already
		 * is an access like a read, so that hits have the same numbers stepped and run. */
		touched = did ? kinds : hardware && w->kind != AGENT_WATCH_WRITE && accessed(w);
		differs = (kinds & 2) && changed(w, &addr);
		if (w->kind == AGENT_WATCH_WRITE  ? differs
		    : w->kind == AGENT_WATCH_READ ? touched && !differs
						  : touched || differs)
			count(w, addr, event, run, false, hit);
	}
}

void watch_check_event(uint64_t event, uint64_t run, struct watch_hit *hit)
{
	hit->id = 0;
	for (struct watch *w = watches; w < watches + WATCHES; w++) {
		uint64_t addr;

		if (!w->id)
			continue;
		if (hardware && w->kind != AGENT_WATCH_WRITE)
			accessed(w); /* the lower half's own accesses are not the program's */
		if (changed(w, &addr) && w->kind != AGENT_WATCH_READ)
			count(w, addr, event, run, true, hit);
	}
}
