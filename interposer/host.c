/* Plug-ins: loading them, and what the boundary offers them (host.h). */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "boundary.h"
#include "clock.h"
#include "replay.h"

enum { SLOTS = 8, NAMESPACES = 3 };

static struct {
	const struct rdb_plugin *plugins[NAMESPACES];
	struct gate_frame *frame; /* of the hypercall under way */
	uint64_t scratch_next;
	uint64_t slot[SLOTS];
} host;

void host_scratch_upto(uint64_t end)
{
	uint64_t *have = &lower.upper.scratch_end;
	end = (end + (1ul << 20) - 1) & ~((1ul << 20) - 1);
	if (end <= *have)
		return;
	if (end > RDB_SCRATCH_END || mmap((void *)*have, end - *have, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		rdb_fatal("no scratch memory for a callback: %lu bytes", (unsigned long)(end - RDB_SCRATCH));
	*have = end;
}

static void *scratch(unsigned slot, size_t len)
{
	if (slot >= SLOTS)
		rdb_fatal("a plug-in asked for scratch slot %u", slot);
	host.slot[slot] = host.scratch_next;
	host.scratch_next += (len + 63) & ~63ul;
	host_scratch_upto(host.scratch_next);
	return (void *)host.slot[slot];
}

static void out(void *upper, size_t len)
{
	struct event *ev = event_current();
	if (len && ev)
		event_out(ev, upper, len);
}

static void note(enum rdb_note what, const void *data, size_t len)
{
	struct event *ev = event_current();
	if (ev)
		event_note(ev, what, data, len);
}

static void ending(int exit_code)
{
	boundary_end(LOG_END_EXIT, exit_code, NULL);
}

uint64_t host_upcall(struct gate_frame *frame, uint64_t fn, const uint64_t *args)
{
	uint64_t six[6], result;
	/* what a nested hypercall would overwrite */
	struct gate_frame *outer = host.frame;
	uint64_t scratch_next = host.scratch_next;
	if (args)
		memcpy(six, args, sizeof(six));
	else
		replay_take_upcall(&fn, six, NULL);
	event_answered(NULL);
	result = gate_upcall(frame, fn, six);
	host.frame = outer;
	host.scratch_next = scratch_next;
	return result;
}

static uint64_t upcall(void *upper_fn, const uint64_t *args, unsigned nargs, const struct rdb_span *spans,
		       unsigned nspans)
{
	uint64_t logged[7] = {(uint64_t)upper_fn}, six[6] = {0};
	if (nargs > 6)
		rdb_fatal("an upcall with %u arguments", nargs);
	memcpy(logged + 1, args, 8ul * nargs);
	memcpy(six, args, 8ul * nargs);
	struct event *ev = event_begin(LOG_UPCALL, 0, logged, nargs + 1);
	for (unsigned i = 0; i < nspans; i++)
		event_out(ev, spans[i].addr, spans[i].len);
	event_end(ev);
	return host_upcall(host.frame, (uint64_t)upper_fn, six);
}

static struct rdb_host offered = {
	.version = RDB_HOST_VERSION,
	.out = out,
	.note = note,
	.upcall = upcall,
	.scratch = scratch,
	.fatal = rdb_fatal,
	.ending = ending,
};

static const struct rdb_plugin *load(unsigned ns)
{
	const char *path = ns == RDB_NS_MPI ? lower.opt.mpi_lower : NULL;
	if (!path)
		rdb_fatal("the program calls library %u, for which this rdb has no plug-in", ns);
	void *so = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!so)
		rdb_fatal("%s", dlerror());
	const struct rdb_plugin *p = dlsym(so, "rdb_plugin");
	if (!p || p->version != RDB_HOST_VERSION)
		rdb_fatal("%s: %s", path, p ? "made for another version of rdb-exec" : "not a plug-in of rdb");
	offered.rank = lower.opt.rank;
	int rc = p->init(&offered);
	if (rc)
		rdb_fatal("%s: %s", p->name, strerror(-rc));
	return p;
}

int64_t host_call(struct event *ev, struct gate_frame *frame)
{
	unsigned ns = ev->nr >> 16;
	if (ns == RDB_NS_CORE)
		return clock_call(ev->nr, ev->args);
	if (ns >= NAMESPACES)
		rdb_fatal("hypercall %#x: no such library", ev->nr);
	if (!host.plugins[ns])
		host.plugins[ns] = load(ns);
	struct gate_frame *outer = host.frame;
	host.frame = frame;
	if (!outer)
		host.scratch_next = RDB_SCRATCH;
	int64_t result = host.plugins[ns]->call(ev->nr, ev->nargs, ev->args);
	host.frame = outer;
	return result;
}
