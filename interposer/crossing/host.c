/* Plug-ins: loading them, and what the boundary offers them (host.h). */
#include <dlfcn.h>
#include <signal.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "crossing/arrivals.h"
#include "crossing/schedule.h"
#include "crossing/boundary.h"
#include "base/table.h"
#include "base/guarded_copy.h"
#include "base/handed_on.h"
#include "crossing/order.h"
#include "crossing/scratch.h"
#include "crossing/source.h"
#include "crossing/trace_event.h"
#include "log/log_writer.h"
#include "log/stamp.h"
#include "space/device_memory.h"
#include "space/shared_outsiders.h"
#include "space/side_files.h"
#include "base/thread.h"

enum { NAMESPACES = 3 };

static struct {
	const struct rdb_plugin *plugins[NAMESPACES];
	pthread_mutex_t lock; /* held in plug-ins; without a recording it is all that keeps threads apart */
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- one at a time: the holder of the lock has the baton, too ---- */

/* While there is one thread that could come here the lock is left alone: its atomic instructions would be most of
 * what a short message pays.  Another thread comes into being in upper code (a callback, where the plug-in is left)
 * or at the end of a call (arrivals_begin), so it finds nobody in here. */
static void enter(struct thread *self)
{
	self->locks = threads_alive() > 1 || arrivals_possible;
	if (self->locks)
		pthread_mutex_lock(&host.lock);
}

static void leave(const struct thread *self)
{
	if (self->locks)
		pthread_mutex_unlock(&host.lock);
}

static bool hold(bool want)
{
	struct thread *self = thread_self();
	bool had = !self->away;
	if (want == had)
		return had;
	if (want) {
		schedule->unblock(self->handed);
		arrivals_still_end();
		enter(self);
		if (lower.mode->away)
			lower.mode->away(false);
		self->away = false;
	} else {
		self->away = true;
		if (lower.mode->away)
			lower.mode->away(true);
		leave(self);
		self->handed = schedule->block();
		if (!self->handed)
			arrivals_still_begin();
	}
	return had;
}

static bool shared(void)
{
	return recording() && threads_compete();
}

/* ---- what plug-ins are offered ---- */

static void out(void *upper, size_t len)
{
	struct event *ev = event_current();
	if (len && ev)
		event_out(ev, upper, len);
}

static void sent(const void *upper, size_t len)
{
	struct event *ev = event_current();
	if (ev)
		event_sent(ev, upper, len);
}

static void sent_blocks(const void *upper, int64_t count, int64_t extent, const struct rdb_blocks *blocks, unsigned n)
{
	struct event *ev = event_current();
	if (ev)
		event_sent_blocks(ev, upper, count, extent, blocks, n);
}

static void note(enum rdb_note what, const void *data, size_t len)
{
	struct event *ev = event_current();
	if (ev)
		event_note(ev, what, data, len);
}

static void payload(void *upper, size_t len)
{
	struct event *ev = event_current();
	if (len && ev)
		order_payload(ev, upper, len);
}

static void others_share(const void *start)
{
	shared_has_outsiders((uint64_t)start);
}

static void ending(int exit_code)
{
	boundary_end(LOG_END_EXIT, exit_code, NULL);
}

uint64_t host_upcall(struct gate_frame *frame, uint64_t fn, const uint64_t *args)
{
	uint64_t result;
	thread_self()->state = THREAD_RUNS; /* the upper function runs; set before the agent may stop there */
	event_answered(NULL);
	thread_self()->came_back = NULL;
	result = gate_upcall(frame, fn, args);
	thread_self()->state = THREAD_ASKS; /* the hypercall goes on */
	thread_self()->came_back = frame;
	thread_self()->upcall_result = result;
	return result;
}

static uint64_t upcall(void *upper_fn, const uint64_t *args, unsigned nargs, const struct rdb_span *spans,
		       unsigned nspans)
{
	uint64_t logged[7] = {(uint64_t)upper_fn}, six[6] = {0};
	if (nargs > 6)
		rdb_fatal("a library calls back with %u arguments, more than rdb-exec passes on", nargs);
	memcpy(logged + 1, args, 8ul * nargs);
	memcpy(six, args, 8ul * nargs);
	/* before the event, which may hand on the baton to a thread that wants the lock */
	leave(thread_self());
	event_waits();
	struct event *ev = event_begin(LOG_UPCALL, 0, logged, nargs + 1);
	for (unsigned i = 0; i < nspans; i++) {
		memcpy(spans[i].addr, spans[i].from, spans[i].len);
		event_out(ev, spans[i].addr, spans[i].len);
	}
	event_end(ev);
	uint64_t result = host_upcall(thread_self()->frame, (uint64_t)upper_fn, six);
	enter(thread_self());
	return result;
}

/* A plug-in that waits lets other threads in every time it asks. */
static bool at_rest(bool (*complete)(void *), void *arg)
{
	struct thread *self = thread_self();
	const bool due = lower.mode->due && lower.mode->due(), locks = self->locks && (due || complete);
	if (locks)
		leave(self);
	const bool stood = due && lower.mode->hold(NULL, complete, arg);
	if (locks && !stood)
		sched_yield();
	if (locks)
		enter(self);
	return stood;
}

static uint32_t calling_thread(void)
{
	return thread_self()->upper.number;
}

static bool idle(void)
{
	if (!recording() || !lower.started || !log_begin(thread_self()))
		return false;
	const bool more = log_ahead();
	log_done();
	return more;
}

static void registered(void *upper, size_t len, bool remote, bool begin)
{
	device_memory(event_current(), upper, len, remote, begin);
}

static const char *const *spawn_options(unsigned *count)
{
	static struct handed_on handed_on;
	*count = options_hand_on(TO_SPAWN, &handed_on);
	return handed_on.words;
}

static bool changes(const char *path, bool deletes)
{
	return source->file_changes(path, deletes);
}

static void made(const char *path)
{
	source->file_made(path);
}

static bool own_place(const char *path, char *place)
{
	return source->own_place(path, place);
}

static void own_add(const char *path, const char *place)
{
	source->own_add(path, place);
}

static const struct rdb_host offered = {
	.version = RDB_HOST_VERSION,
	.spawn_options = spawn_options,
	.out = out,
	.sent = sent,
	.sent_blocks = sent_blocks,
	.payload = payload,
	.others_share = others_share,
	.note = note,
	.upcall = upcall,
	.scratch = scratch,
	.fatal = rdb_fatal,
	.ending = ending,
	.hold = hold,
	.shared = shared,
	.arrived = arrivals_came,
	.device_memory = registered,
	.device_told = device_memory_told,
	.forks_break_dma = device_memory_forks_break,
	.keep_descriptor = lower_fd,
	.whole = side_file_whole,
	.changes = changes,
	.made = made,
	.own_place = own_place,
	.own_add = own_add,
	.warn = rdb_warn,
	.copy = guarded_copy,
	.at_rest = at_rest,
	.thread = calling_thread,
	.idle = idle,
	.recording = recording,
	.passing = passing,
};

/* Our handlers must see faults first: some are instructions that ask the machine.  UCX takes the signals when it is
 * loaded, which Open MPI 5 may do as late as in MPI_Init, and sets a small signal stack of its own, below which there is
 * something else.  It is told not to; what another library has set is set back.
 *
 * MPICH looks for addresses that are free in all ranks for the memory of a window.  Those may be the program's
 * (layout.h): it would be hashed as such, and be in images.  It is told to take what the kernel gives. */
static void *load_library(const char *path)
{
	if (setenv("UCX_HANDLE_ERRORS", "none", 1) || setenv("MPIR_CVAR_SHM_SYMHEAP_RETRY", "0", 1))
		rdb_fatal("out of memory");
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	struct sigaction ours[sizeof(faults) / sizeof(*faults)];
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigaction(faults[i], NULL, &ours[i]);
	void *so = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigaction(faults[i], &ours[i], NULL);
	stack_t stack;
	if (sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_ONSTACK) && boundary_signal_stack(thread_self()))
		rdb_fatal("%s: the signal stack (sigaltstack) cannot be set again", path);
	return so;
}

/* A plug-in is told of the mode in which it is loaded: one that a branch loads when it runs live restarts nothing. */
static const struct rdb_plugin *load(unsigned ns)
{
	static struct rdb_host given[NAMESPACES];
	const char *path = ns == RDB_NS_MPI ? lower.opt.mpi_lower : ns == RDB_NS_VERBS ? lower.opt.verbs_lower : NULL;
	if (!path)
		rdb_fatal("the program calls library %u, for which this rdb has no plug-in", ns);
	void *so = load_library(path);
	if (!so)
		rdb_fatal("%s", dlerror());
	const struct rdb_plugin *p = dlsym(so, "rdb_plugin");
	if (!p || p->version != RDB_HOST_VERSION)
		rdb_fatal("%s: %s", path, p ? "made for another version of rdb-exec" : "not a plug-in of rdb");
	struct rdb_host *own = &given[ns];
	*own = offered;
	own->rank = lower.opt.rank;
	own->world_first = lower.opt.world_first;
	own->appnum = lower.opt.appnum;
	own->worlds = lower.opt.worlds;
	own->order = lower.opt.order;
	own->lean = lower.opt.lean;
	own->pick = lower.opt.chaos && recording() ? schedule->pick : NULL;
	own->hca = lower.opt.hca;
	own->hca_key = lower.opt.hca_key;
	own->dir = lower.opt.dir;
	own->event = &lower.event;
	own->from = lower.opt.restart;
	own->checkpoint = lower.opt.checkpoint;
	own->in_place = lower.opt.in_place;
	if (lower.mode->offer)
		lower.mode->offer(own);
	int rc = p->init(own);
	if (rc)
		rdb_fatal("%s: %s", p->name, strerror(-rc));
	return p;
}

static bool brings(const struct rdb_plugin *p)
{
	return p->progress && (!p->brings || p->brings());
}

/* From now on a thread of ours calls progress(). */
static void progress_begins(struct thread *self)
{
	leave(self);
	arrivals_begin();
	enter(self);
}

int64_t host_call(struct event *ev, struct gate_frame *frame)
{
	unsigned ns = ev->nr >> 16;
	if (ns == RDB_NS_CORE)
		return source->core(ev->nr, ev->args);
	if (ns >= NAMESPACES)
		rdb_fatal("a stub library made call %#x, which belongs to no library that rdb knows", ev->nr);
	struct thread *self = thread_self();
	enter(self);
	if (!host.plugins[ns])
		host.plugins[ns] = load(ns);
	if (!arrivals_possible && brings(host.plugins[ns]))
		progress_begins(self);
	if (recording())
		ev->begun = stamp_begin();
	trace_event("calls", ev, lower.event);
	int64_t result = host.plugins[ns]->call(ev->nr, ev->nargs, ev->args);
	if (!arrivals_possible && brings(host.plugins[ns])) /* from this call on */
		progress_begins(self);
	scratch_free_all(ev);
	leave(self);
	return result;
}

bool host_has_device_files(void)
{
	return lower.opt.hca && !strcmp(lower.opt.hca, "soft") && lower.opt.verbs_lower;
}

const char *host_device_files(void)
{
	if (!host_has_device_files())
		return NULL;
	struct thread *self = thread_self();
	enter(self);
	if (!host.plugins[RDB_NS_VERBS])
		host.plugins[RDB_NS_VERBS] = load(RDB_NS_VERBS);
	const char *folder = host.plugins[RDB_NS_VERBS]->device_files();
	leave(self);
	return folder;
}

static const struct rdb_plugin *loaded_of(uint32_t fn)
{
	return fn >> 16 < NAMESPACES ? host.plugins[fn >> 16] : NULL;
}

bool host_may_be_quick(uint32_t fn)
{
	const struct rdb_plugin *p = loaded_of(fn);
	return p && p->quick && p->quick_index == (fn & 0xffff) && !arrivals_possible;
}

bool host_tells_time(uint32_t fn)
{
	const struct rdb_plugin *p = loaded_of(fn);
	return p && p->clock_index && p->clock_index == (fn & 0xffff);
}

bool host_quick(uint32_t fn, const uint64_t *args)
{
	return host.plugins[fn >> 16]->quick(fn, args);
}

const char *host_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *args, int64_t *result)
{
	unsigned ns = fn >> 16;
	const char *why;
	if (ns >= NAMESPACES)
		return "it calls a library that rdb does not know";
	if ((step == RDB_RESTART_CUT || step == RDB_RESTART_LIVE) && !host.plugins[ns])
		return NULL;
	struct thread *self = thread_self();
	enter(self);
	if (!host.plugins[ns])
		host.plugins[ns] = load(ns);
	why = host.plugins[ns]->restart ? host.plugins[ns]->restart(step, fn, nargs, args, result)
					: "it uses a library whose state cannot be brought back";
	leave(self);
	return why;
}

const char *host_expand(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			struct rdb_recorded *recorded)
{
	unsigned ns = fn >> 16;
	const char *why = NULL;
	if (ns >= NAMESPACES)
		return "it calls a library that rdb does not know";
	struct thread *self = thread_self();
	enter(self);
	if (!host.plugins[ns] && ns == RDB_NS_MPI && step != RDB_EXPAND_END)
		host.plugins[ns] = load(ns);
	if (host.plugins[ns] && host.plugins[ns]->expand)
		why = host.plugins[ns]->expand(step, fn, nargs, args, recorded);
	leave(self);
	return why;
}

/* ---- checkpoints without a log: the rank holds still, so nobody else is in a plug-in ---- */

static const struct rdb_coordinated *coordinated(unsigned ns)
{
	return host.plugins[ns] ? host.plugins[ns]->coordinated : NULL;
}

bool host_coordinated_may_hold(bool waits)
{
	return !coordinated(RDB_NS_MPI) || coordinated(RDB_NS_MPI)->may_hold(waits);
}

uint64_t host_coordinated_settle(void)
{
	return coordinated(RDB_NS_MPI) ? coordinated(RDB_NS_MPI)->settle() : 0;
}

const char *host_coordinated_refuses(void)
{
	for (unsigned ns = 0; ns < NAMESPACES; ns++)
		if (host.plugins[ns] && !coordinated(ns))
			return "it uses a library whose state cannot be brought back";
	return coordinated(RDB_NS_MPI) ? coordinated(RDB_NS_MPI)->refuses() : NULL;
}

int host_coordinated_save(struct table *out)
{
	void *bytes = NULL;
	size_t len = 0;
	int rc = coordinated(RDB_NS_MPI) ? coordinated(RDB_NS_MPI)->save(&bytes, &len) : 0;
	if (!rc && len)
		rc = table_add(out, bytes, len);
	free(bytes);
	return rc;
}

bool host_coordinated_shares(uint64_t start, uint64_t end)
{
	return coordinated(RDB_NS_MPI) && coordinated(RDB_NS_MPI)->shares(start, end);
}

const char *host_coordinated_load(const void *bytes, size_t len)
{
	const char *why = "rdb's plug-in for this MPI cannot restore the state of MPI";
	struct thread *self = thread_self();
	enter(self);
	host.plugins[RDB_NS_MPI] = load(RDB_NS_MPI);
	if (coordinated(RDB_NS_MPI))
		why = coordinated(RDB_NS_MPI)->load(bytes, len);
	leave(self);
	return why;
}

void host_live(void)
{
	for (unsigned ns = 0; ns < NAMESPACES; ns++)
		if (host.plugins[ns] && brings(host.plugins[ns]) && !arrivals_possible)
			arrivals_begin();
}

void host_progress(void)
{
	struct thread *self = thread_self();
	const bool locks = self->locks;
	pthread_mutex_lock(&host.lock);
	self->locks = true;
	for (unsigned ns = 0; ns < NAMESPACES; ns++)
		if (host.plugins[ns] && host.plugins[ns]->progress)
			host.plugins[ns]->progress();
	pthread_mutex_unlock(&host.lock);
	self->locks = locks;
}

void host_fork_begin(void)
{
	if (arrivals_possible)
		pthread_mutex_lock(&host.lock);
}

void host_fork_end(void)
{
	if (arrivals_possible)
		pthread_mutex_unlock(&host.lock);
}

void host_in_child(void)
{
	pthread_mutex_init(&host.lock, NULL); /* a thread of the parent may have had it */
	arrivals_in_child();
	for (unsigned ns = 0; ns < NAMESPACES; ns++)
		if (host.plugins[ns] && host.plugins[ns]->in_child)
			host.plugins[ns]->in_child();
}
