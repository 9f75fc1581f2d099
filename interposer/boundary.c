#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "arena.h"
#include "boundary.h"
#include "image.h"
#include "loader.h"
#include "log_writer.h"
#include "replay.h"
#include "replica.h"
#include "signals.h"
#include "vfork.h"

enum { ALT_STACK = 1 << 20, HYPERCALL_STACK = 16 << 20, DEPTH = 16 };

struct gate_state gate_state;

static struct {
	struct event events[DEPTH];
	unsigned depth;
	struct gate_frame *frame;    /* of the hypercall under way; NULL while a system call is answered */
	bool trap_in_flight;
	bool deliver;                /* a signal is due when the trap after a hypercall comes */
	uint64_t hash_ns, started_ns, hashed_event; /* time budget of hashes */
	void (*fill)(ucontext_t *uc);
} boundary;

static uint64_t monotonic_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- events ---- */

struct event *event_begin(enum log_kind kind, uint32_t nr, const uint64_t *args, unsigned nargs)
{
	if (boundary.depth == DEPTH)
		rdb_fatal("callbacks nested more than %d deep", DEPTH);
	struct event *ev = &boundary.events[boundary.depth++];
	ev->kind = (uint16_t)kind;
	ev->nr = nr;
	ev->nargs = (uint16_t)nargs;
	if (nargs)
		memcpy(ev->args, args, 8ul * nargs);
	ev->result = 0;
	ev->nchunks = 0;
	ev->notes_used = 0;
	ev->more_used = 0;
	return ev;
}

struct event *event_current(void)
{
	return boundary.depth ? &boundary.events[boundary.depth - 1] : NULL;
}

static struct event_chunk *new_chunk(struct event *ev)
{
	if (ev->nchunks == ev->chunk_cap) {
		unsigned cap = ev->chunk_cap ? ev->chunk_cap * 2 : 128;
		size_t old = ev->chunk_cap * sizeof(*ev->chunks), want = cap * sizeof(*ev->chunks);
		void *p = ev->chunks ? mremap(ev->chunks, old, want, MREMAP_MAYMOVE)
				     : mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			rdb_fatal("out of memory for an event of %u parts", cap);
		ev->chunks = p;
		ev->chunk_cap = cap;
	}
	return &ev->chunks[ev->nchunks++];
}

void event_out(struct event *ev, void *upper, size_t len)
{
	if (lower.mode != MODE_RECORD)
		return;
	for (char *p = upper; len;) {
		size_t n = len < (1ul << 30) ? len : (1ul << 30);
		*new_chunk(ev) = (struct event_chunk){.addr = (uint64_t)p, .data = p, .len = (uint32_t)n};
		p += n;
		len -= n;
	}
}

/* Room for a note that notes[] has no room for.  Growing moves them: their chunks follow. */
static char *more_notes(struct event *ev, size_t len)
{
	if (ev->more_used + len + 8 > ev->more_room) {
		unsigned room = ev->more_room ? ev->more_room * 2 : 1 << 20;
		void *p = ev->more ? mremap(ev->more, ev->more_room, room, MREMAP_MAYMOVE)
				   : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			rdb_fatal("out of memory for the notes of an event");
		for (unsigned i = 0; ev->more && i < ev->nchunks; i++) {
			const char *data = ev->chunks[i].data;
			if (!ev->chunks[i].addr && data >= ev->more && data < ev->more + ev->more_room)
				ev->chunks[i].data = (char *)p + (data - ev->more);
		}
		ev->more = p;
		ev->more_room = room;
	}
	ev->more_used += (unsigned)((len + 7) & ~7ul);
	return ev->more + ev->more_used - ((len + 7) & ~7ul);
}

void event_note(struct event *ev, enum rdb_note what, const void *data, size_t len)
{
	if (lower.mode != MODE_RECORD)
		return;
	size_t at = (ev->notes_used + 7ul) & ~7ul;
	char *copy = ev->notes + at;
	if (len > (1u << 20) - 8)
		rdb_fatal("a note of %zu bytes", len);
	if (at + len > sizeof(ev->notes))
		copy = more_notes(ev, len);
	else
		ev->notes_used = (unsigned)(at + len);
	memcpy(copy, data, len);
	*new_chunk(ev) = (struct event_chunk){.data = copy, .len = (uint32_t)len, .note = what};
}

static void append(const struct event *ev, uint64_t number)
{
	int rc = log_append(ev, number);
	if (rc) {
		boundary_end(LOG_END_DISK, -rc, "the log could not be written");
		rdb_warn("%s: %s: the recording ends at event %lu, the program goes on", lower.opt.dir, strerror(-rc),
			 (unsigned long)lower.event);
		lower.mode = MODE_PASS;
	}
}

void event_end(struct event *ev)
{
	if (lower.mode == MODE_RECORD && lower.started) {
		append(ev, lower.event + 1);
		if (lower.mode == MODE_RECORD)
			lower.event++;
	}
	boundary.depth--;
}

/* Hashes by default take at most about 1 % of the time; --hash-every N makes them exact. */
static bool hash_due(void)
{
	if (lower.opt.hash_every)
		return lower.event % lower.opt.hash_every == 0;
	if (lower.event - boundary.hashed_event < 1000)
		return false;
	uint64_t elapsed = monotonic_ns() - boundary.started_ns;
	boundary.hashed_event = lower.event - 900; /* look at the clock every 100 events at most */
	return elapsed > 200 * 1000000ull && boundary.hash_ns * 100 < elapsed;
}

static void log_hash(enum log_hash_when when)
{
	uint64_t before = lower.opt.hash_every ? 0 : monotonic_ns();
	struct event ev;
	memset(&ev, 0, offsetof(struct event, notes));
	ev.kind = LOG_HASH;
	ev.nr = when;
	ev.result = (int64_t)arena_hash();
	append(&ev, lower.event);
	if (before)
		boundary.hash_ns += monotonic_ns() - before;
	boundary.hashed_event = lower.event;
}

void event_answered(ucontext_t *uc)
{
	if (!lower.started)
		return;
	if (lower.mode == MODE_RECORD) {
		if (hash_due())
			log_hash(LOG_HASH_AT_EVENT);
	} else if (lower.mode == MODE_VERIFY) {
		replay_look_ahead();
	} else if (lower.mode == MODE_REPLICA) {
		replay_look_ahead();
		agent_event(lower.event, uc);
	}
	if (lower.event == 1)
		loader_unpin();
}

void boundary_final_hash(void)
{
	if (lower.mode == MODE_RECORD && lower.started && !lower.ended)
		log_hash(LOG_HASH_AT_END);
}

void boundary_end(enum log_end how, int64_t value, const char *text)
{
	if (how == LOG_END_EXIT || how == LOG_END_EXEC)
		vfork_leaving();
	if (lower.mode != MODE_RECORD || lower.ended)
		return;
	lower.ended = true;
	log_end(how, value, text);
}

/* ---- crossings ---- */

const struct gate_frame *boundary_frame(void)
{
	return boundary.frame;
}

int64_t boundary_hypercall(uint32_t fn, uint32_t nargs, const uint64_t *args, struct gate_frame *frame)
{
	lower.upper.fs_base = frame->fs_base;
	if (nargs > RDB_MAX_ARGS)
		rdb_fatal("hypercall %#x with %u arguments", fn, nargs);
	if (lower.upper.tsc_mode)
		prctl(PR_SET_TSC, PR_TSC_ENABLE);
	struct gate_frame *outer = boundary.frame;
	boundary.frame = frame;
	struct event *ev = event_begin(LOG_HYPERCALL, fn, args, nargs);
	if (lower.mode == MODE_VERIFY || lower.mode == MODE_REPLICA) {
		while (replay_upcall_next())
			host_upcall(frame, 0, NULL);
		event_replay(ev, NULL);
		boundary.depth--;
	} else {
		ev->result = host_call(ev, frame);
		event_end(ev);
	}
	int64_t result = ev->result;
	boundary.frame = outer;
	event_answered(NULL);
	signals_want_delivery(NULL);
	if (lower.upper.tsc_mode)
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	return result;
}

void boundary_deliver_on_return(void)
{
	boundary.deliver = true;
	boundary_trap_on_return();
}

void boundary_trap_on_return(void)
{
	gate_state.trap = 1;
	boundary.trap_in_flight = true;
}

/* Every handler runs with the lower thread pointer; the program's is put back at the end. */
static inline uint64_t enter_lower(const ucontext_t *uc)
{
	uint64_t fs = _readfsbase_u64();
	_writefsbase_u64(lower.fs);
	if (RDB_IS_UPPER(UC_REG(uc, RIP)))
		lower.upper.fs_base = fs;
	return fs;
}

static inline void leave_lower(const ucontext_t *uc, uint64_t fs)
{
	_writefsbase_u64(RDB_IS_UPPER(UC_REG(uc, RIP)) ? lower.upper.fs_base : fs);
}

static void on_sigsys(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uint64_t fs = enter_lower(uc);
	if (!RDB_IS_UPPER(UC_REG(uc, RIP)))
		rdb_fatal("SIGSYS in the lower half: system call %d is forbidden here", info->si_syscall);
	UC_REG(uc, R11) &= ~EFLAGS_TF;
	if (UC_REG(uc, RAX) == GATE_START_CALL && (UC_REG(uc, RIP) & ~(RDB_PAGE - 1)) == RDB_GATE_CODE)
		boundary_started(uc);
	else {
		struct gate_frame *outer = boundary.frame; /* an upcalled function makes system calls too */
		boundary.frame = NULL;
		syscall_event(uc);
		boundary.frame = outer;
	}
	signals_want_delivery(uc);
	leave_lower(uc, fs);
}

static void on_sigtrap(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uint64_t fs = enter_lower(uc);
	uint64_t pc = UC_REG(uc, RIP);
	if (!RDB_IS_UPPER(pc) && boundary.trap_in_flight && !replica_in_gate(pc)) {
		/* on the last instructions of the way out: go on stepping */
	} else {
		if (RDB_IS_UPPER(pc))
			boundary.trap_in_flight = false;
		if (lower.mode == MODE_REPLICA) {
			if (!agent_sigtrap(info, uc))
				signals_fault(sig, info, uc);
		} else if (UC_REG(uc, EFL) & EFLAGS_TF) {
			UC_REG(uc, EFL) &= ~EFLAGS_TF;
		} else {
			signals_fault(sig, info, uc);
		}
		if (RDB_IS_UPPER(pc) && boundary.deliver) {
			boundary.deliver = false;
			signals_want_delivery(uc);
		}
	}
	leave_lower(uc, fs);
}

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uint64_t fs = enter_lower(uc);
	signals_fault(sig, info, uc);
	leave_lower(uc, fs);
}

static void on_interrupt(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uint64_t fs = enter_lower(uc);
	agent_interrupt(info, uc);
	leave_lower(uc, fs);
}

static void on_resume(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uint64_t fs = enter_lower(uc);
	boundary.fill(uc);
	leave_lower(uc, fs);
}

void boundary_started(ucontext_t *uc)
{
	UC_REG(uc, RIP) = lower.upper.entry;
	UC_REG(uc, RAX) = UC_REG(uc, RCX) = UC_REG(uc, R11) = 0;
	lower.started = true;
	lower.event = 0;
	if (lower.mode == MODE_RECORD)
		boundary_begin(uc);
}

void boundary_forget(void)
{
	boundary.depth = 0;
	boundary.frame = NULL;
	boundary.deliver = false;
	signals_forget();
}

void boundary_begin(ucontext_t *uc)
{
	boundary.started_ns = monotonic_ns();
	if (lower.upper.tsc_mode)
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	struct event ev;
	memset(&ev, 0, offsetof(struct event, notes));
	ev.kind = LOG_START;
	append(&ev, 0);
	int rc = lower.mode == MODE_RECORD ? image_write(0, uc) : 0;
	if (rc) {
		append(&ev, 0);
		boundary_end(LOG_END_DISK, -rc, "the first image could not be written");
		rdb_warn("%s: %s: the program goes on unrecorded", lower.opt.dir, strerror(-rc));
		lower.mode = MODE_PASS;
		return;
	}
	ev.kind = LOG_CHECKPOINT;
	append(&ev, 0);
	if (lower.opt.hash_every)
		log_hash(LOG_HASH_AT_EVENT);
}

/* ---- set-up ---- */

static int handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_ONSTACK | flags};
	sigemptyset(&sa.sa_mask);
	return sigaction(sig, &sa, NULL) ? -errno : 0;
}

static void *lower_map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static int map_gate(void)
{
	void *p = mmap((void *)RDB_GATE, 2 * RDB_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	struct rdb_gate *gate = p;
	gate->magic = RDB_GATE_MAGIC;
	gate->version = RDB_GATE_VERSION;
	gate->call = gate_entry;
	gate->upcall_return = gate_upcall_return;
	memcpy((void *)RDB_GATE_CODE, gate_code_start, (size_t)(gate_code_end - gate_code_start));
	if (mprotect(p, RDB_PAGE, PROT_READ) || mprotect((char *)p + RDB_PAGE, RDB_PAGE, PROT_READ | PROT_EXEC))
		return -errno;
	return 0;
}

int boundary_dispatch_on(void)
{
	/* the whole lower half is the range whose system calls the kernel carries out itself */
	return prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, RDB_ARENA_END, 0x7ffffffff000ul - RDB_ARENA_END, NULL)
		       ? -errno : 0;
}

int boundary_init(void)
{
	unsigned a, b, c, d;
	char *hyper = lower_map(HYPERCALL_STACK);
	stack_t alt = {.ss_sp = lower_map(ALT_STACK), .ss_size = ALT_STACK};
	if (!hyper || !alt.ss_sp || sigaltstack(&alt, NULL))
		return -errno;
	gate_state.lower_sp = (uint64_t)(hyper + HYPERCALL_STACK);
	gate_state.lower_fs = lower.fs = _readfsbase_u64();
	/* opmask, ZMM_Hi256, Hi16_ZMM: there, and enabled by the kernel (XCR0) */
	if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d) && (a & 0xe0) == 0xe0) {
		uint32_t low, high;
		__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
		gate_state.avx512 = (low & 0xe0) == 0xe0;
	}
	int rc = map_gate();
	if (!rc)
		rc = handle(SIGSYS, on_sigsys, SA_NODEFER);
	if (!rc)
		rc = handle(SIGTRAP, on_sigtrap, SA_NODEFER);
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults) && !rc; i++)
		rc = handle(faults[i], on_fault, SA_NODEFER);
	if (!rc && lower.mode == MODE_REPLICA)
		rc = handle(SIGUSR1, on_interrupt, 0);
	return rc ? rc : boundary_dispatch_on();
}

void boundary_resume(void (*fill)(ucontext_t *uc))
{
	boundary.fill = fill;
	int rc = handle(SIGUSR2, on_resume, SA_RESETHAND);
	if (rc || raise(SIGUSR2))
		rdb_fatal("cannot enter the program: %s", strerror(rc ? -rc : errno));
	__builtin_unreachable();
}

bool replica_in_gate(uint64_t pc)
{
	return pc == (uint64_t)gate_entry || pc == (uint64_t)gate_upcall_return;
}

void replica_trap_on_return(void)
{
	boundary_trap_on_return();
}

void replica_forked(void)
{
	lower.pid = (pid_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (boundary_dispatch_on())
		_exit(125);
}
