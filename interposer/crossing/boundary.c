#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/gate_frame.h"
#include "arch/registers.h"
#include "crossing/arrivals.h"
#include "crossing/boundary.h"
#include "arch/thread_pointer.h"
#include "interface/gate.h"
#include "crossing/schedule.h"
#include "crossing/source.h"
#include "base/guarded_copy.h"
#include "base/monotonic.h"
#include "crossing/hot_sites.h"
#include "crossing/quick_calls.h"
#include "image/image.h"
#include "text/spin_sites.h"
#include "text/counter_sites.h"
#include "space/ends.h"
#include "text/traps.h"
#include "base/seccomp.h"
#include "base/thread.h"

enum { SIGNALS = 65 };

/* boundary_hypercall() for --record=off: calling MPI costs hardly more than a plain call. */
static int64_t unrecorded(struct thread *self, uint32_t fn, uint32_t nargs, const uint64_t *args,
			  struct gate_frame *frame)
{
	struct gate_frame *outer = self->frame;
	self->frame = frame;
	self->came_back = NULL;
	struct event *ev = event_begin(LOG_HYPERCALL, fn, args, nargs);
	const int64_t result = host_call(ev, frame);
	event_end(ev);
	self->frame = outer;
	self->gate.vectors = 1;
	event_answered(NULL);
	source->deliver(NULL);
	return result;
}

/* A library's clock is read in a row: waits as long as the row is paced (clock_row.h). */
static void read_in_a_row(uint32_t fn)
{
	clock_row_goes_on(fn);
	while (clock_row_waits(fn, (int64_t)monotonic_ns(), CLOCK_ROW_MOST))
		;
}

int64_t boundary_hypercall(uint32_t fn, uint32_t nargs, const uint64_t *args, struct gate_frame *frame)
{
	struct thread *self = thread_self();
	self->upper.tls = frame->tls;
	if (nargs > RDB_MAX_ARGS)
		rdb_fatal("a stub library made call %#x with %u arguments, more than rdb-exec takes", fn, nargs);
	if (passing() && !counter_traps())
		return unrecorded(self, fn, nargs, args, frame);
	if (quick_call(fn, nargs, args))
		return 0;
	/* in replay another thread may go on before this call is answered, in the same kernel thread */
	const bool counter_open = counter_traps() && !replaying();
	if (counter_open)
		prctl(PR_SET_TSC, PR_TSC_ENABLE);
	struct gate_frame *outer = self->frame;
	self->frame = frame;
	self->came_back = NULL;
	source_polls(gate_frame_asks_at(frame));
	const bool tells_time = recording() && host_tells_time(fn);
	if (tells_time)
		read_in_a_row(fn);
	struct event *ev = event_begin(LOG_HYPERCALL, fn, args, nargs);
	if (lower.mode->call)
		lower.mode->call(ev, frame);
	else
		ev->result = host_call(ev, frame);
	if (tells_time && recording())
		ev->result = source->time(fn, ev->result);
	event_end(ev);
	int64_t result = ev->result;
	self->frame = outer;
	event_answered(NULL);
	quick_calls_again(fn);
	source->deliver(NULL);
	if (self->polling.asks)
		boundary_trap_on_return();
	if (counter_open)
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	return result;
}

void boundary_deliver_on_return(void)
{
	thread_self()->deliver = true;
	boundary_trap_on_return();
}

void boundary_trap_on_return(void)
{
	struct thread *self = thread_self();
	self->gate.trap = 1;
	self->trap_in_flight = true;
}

/* The code that runs with the program's thread pointer on its way in and out. */
static bool own_text(uint64_t pc)
{
	extern const char __executable_start[], etext[];
	return pc >= (uint64_t)__executable_start && pc < (uint64_t)etext;
}

bool boundary_runs_upper(const ucontext_t *uc)
{
	return RDB_RUNS_UPPER(UC_PC(uc)) || thread_self()->wild;
}

/* Every handler runs with the lower thread pointer; the program's is put back at the end. */
static inline uint64_t enter_lower(const ucontext_t *uc)
{
	uint64_t fs = thread_pointer();
	struct thread *self = thread_self();
	thread_pointer_set(self->gate.lower_tls);
	if (fs != self->gate.lower_tls) /* else another handler was interrupted, or the lower half in a hypercall */
		self->wild = !RDB_RUNS_UPPER(UC_PC(uc)) && !own_text(UC_PC(uc));
	if (boundary_runs_upper(uc))
		self->upper.tls = fs;
	return fs;
}

static inline void leave_lower(ucontext_t *uc, uint64_t fs)
{
	if (lower.mode->leaves && RDB_RUNS_UPPER(UC_PC(uc)))
		lower.mode->leaves();
	if (RDB_RUNS_UPPER(UC_PC(uc)) && !replaying()) /* it may have changed since this handler began */
		memcpy(&uc->uc_sigmask, &thread_self()->kernel_mask, sizeof(thread_self()->kernel_mask));
	if (RDB_RUNS_UPPER(UC_PC(uc)))
		spin_sites_enter(uc);
	if (fs != thread_self()->gate.lower_tls)
		thread_self()->wild = false;
	thread_pointer_set(RDB_RUNS_UPPER(UC_PC(uc)) ? thread_self()->upper.tls : fs);
}

static void boundary_entry(ucontext_t *uc);

/* Comes first in a handler, to which the kernel hands the flags of the program (arch/x86/kernel/signal.c, handle_signal):
 * ends its checks of alignment.  True: the signal was sent by kill(2) or similar (sigaction(2), si_code), so it is no
 * fault of the program. */
static bool sent(int sig, siginfo_t *info, void *ctx)
{
	alignment_checks_off();
	if (info->si_code > 0 || replaying())
		return false;
	source->sent(sig, info, ctx);
	return true;
}

static void on_sigsys(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	if (sent(sig, info, ctx))
		return;
	uint64_t fs = enter_lower(uc);
	if (!RDB_RUNS_UPPER(UC_PC(uc)))
		rdb_fatal("SIGSYS in rdb or the MPI library: system call %d is forbidden here", info->si_syscall);
	uc_at_syscall(uc, info);
	if (UC_CALL(uc) == GATE_START_CALL && (UC_PC(uc) & ~(RDB_PAGE - 1)) == RDB_GATE_CODE) {
		if (thread_self()->state != THREAD_RUNS)
			source->started(uc);
		else
			boundary_entry(uc);
	} else {
		struct thread *self = thread_self();
		struct gate_frame *outer = self->frame; /* an upcalled function makes system calls too */
		ucontext_t *before = self->uc;
		self->frame = NULL;
		self->uc = uc;
		self->asks_at = UC_PC(uc) - SYSCALL_BYTES;
		source_polls(self->asks_at);
		source->syscall(uc);
		self->frame = outer;
		self->uc = before;
	}
	source->deliver(uc);
	source_polled(thread_self(), uc);
	if (thread_self()->look_missed && recording())
		source->look(uc, true);
	source->resume();
	/* the return from this handler sets the carrier's mask */
	memcpy(&uc->uc_sigmask, &thread_self()->kernel_mask, sizeof(thread_self()->kernel_mask));
	leave_lower(uc, fs);
}

static void on_sigtrap(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	if (sent(sig, info, ctx))
		return;
	uint64_t fs = enter_lower(uc);
	uint64_t pc = UC_PC(uc);
	struct thread *self = thread_self();
	const bool upper = boundary_runs_upper(uc);
	if (!serving()) {
		counter_stub_leave(uc);
		spin_sites_leave(uc);
	}
	if (!upper && self->trap_in_flight && !boundary_in_gate(pc)) {
		/* on the last instructions of the way out: go on stepping */
	} else {
		bool expected = upper && self->trap_in_flight;
		if (expected) {
			self->trap_in_flight = false;
			uc_step(uc, false);
		}
		if (!(lower.mode->trap && lower.mode->trap(info, uc)) && !expected)
			source->fault(sig, info, uc);
		if (upper) {
			if (lower.mode->trapped)
				lower.mode->trapped(uc);
		}
		if (upper && self->deliver) {
			self->deliver = false;
			source->deliver(uc);
		}
		if (expected)
			source_polled(self, uc);
		/* last: a look moves uc on */
		if (expected && self->look_missed && recording())
			source->look(uc, true);
	}
	leave_lower(uc, fs);
}

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	if (sent(sig, info, ctx) || (sig == SIGILL && thread_pointer_fault(uc)) || guarded_copy_faulted(uc))
		return;
	uint64_t fs = enter_lower(uc);
	struct thread *self = thread_self();
	struct gate_frame *outer = self->frame;
	ucontext_t *before = self->uc;
	/* else it may be within an event: the counter may trap there, too */
	const bool upper = boundary_runs_upper(uc);
	if (upper && spin_sites_count) {
		if (spin_sites_fault(uc)) {
			leave_lower(uc, fs);
			return;
		}
		spin_sites_leave(uc);
	}
	if (upper) {
		counter_stub_leave(uc);
		self->frame = NULL;
		self->uc = uc;
		self->asks_at = UC_PC(uc);
		source_polls(self->asks_at);
	}
	const bool agents = lower.mode->fault && lower.mode->fault(info, uc);
	if (!agents && upper)
		ends_fault(&sig, info, uc, event_end_of_file);
	if (!agents)
		source->fault(sig, info, uc);
	self->frame = outer;
	self->uc = before;
	if (upper)
		source_polled(self, uc);
	leave_lower(uc, fs);
}

static void (*others[SIGNALS])(siginfo_t *info, ucontext_t *uc);

static void on_other(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	alignment_checks_off();
	uint64_t fs = enter_lower(uc);
	others[sig](info, uc);
	leave_lower(uc, fs);
}

static void (*resume_fill)(ucontext_t *uc);

static void on_resume(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	uint64_t fs = enter_lower(uc);
	resume_fill(uc);
	source->deliver(uc);
	leave_lower(uc, fs);
}

/* Event 0: logging or replaying starts here. */
static void boundary_started(ucontext_t *uc)
{
	lower.started = true;
	lower.event = 0;
	hot_sites_learn(uc);
	if (recording())
		boundary_begin(uc);
}

void boundary_started_early(ucontext_t *uc)
{
	UC_PC(uc) -= SYSCALL_BYTES; /* the call is event 1 */
	boundary_started(uc);
	UC_PC(uc) += SYSCALL_BYTES;
}

static void boundary_entry(ucontext_t *uc)
{
	UC_PC(uc) = lower.upper.entry;
	uc_forget_syscall(uc);
	if (!lower.started)
		boundary_started(uc);
}

void boundary_forget(void)
{
	ending_forked();
	source->forked();
	host_in_child();
}

void boundary_begin(ucontext_t *uc)
{
	traps_set(true);
	event_mark(LOG_START);
	counter_sites_lift();
	int rc = recording() ? image_write_first(uc) : 0;
	counter_sites_put();
	if (rc) {
		boundary_end(LOG_END_DISK, -rc, "the first image could not be written");
		rdb_warn("%s: %s: the program goes on unrecorded", lower.opt.dir, strerror(-rc));
		mode_switch(&mode_pass);
		return;
	}
	event_mark(LOG_CHECKPOINT);
	if (lower.opt.hash_every)
		event_hash(LOG_HASH_AT_EVENT);
}

/* ---- set-up ---- */

static int handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_ONSTACK | flags};
	sigemptyset(&sa.sa_mask);
	return sigaction(sig, &sa, NULL) ? -errno : 0;
}

int boundary_handle(int sig, void (*fn)(siginfo_t *info, ucontext_t *uc), int flags)
{
	others[sig] = fn;
	return handle(sig, on_other, flags);
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
	gate->syscall = hot_sites_entry();
	gate->counter = source->counter;
	gate->spin = source->spin;
	memcpy((void *)RDB_GATE_CODE, gate_code_start, (size_t)(gate_code_end - gate_code_start));
	if (mprotect(p, RDB_PAGE, PROT_READ) || mprotect((char *)p + RDB_PAGE, RDB_PAGE, PROT_READ | PROT_EXEC))
		return -errno;
	return 0;
}

int boundary_gate_live(void)
{
	struct rdb_gate *gate = (void *)RDB_GATE;
	if (mprotect(gate, RDB_PAGE, PROT_READ | PROT_WRITE))
		return -errno;
	gate->syscall = hot_sites_entry();
	return mprotect(gate, RDB_PAGE, PROT_READ) ? -errno : 0;
}

int boundary_dispatch_on(void)
{
	if (seccomp_in_use())
		return seccomp_on();
	/* the whole lower half is the range whose system calls the kernel carries out itself */
	return prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, RDB_ARENA_END, 0x7ffffffff000ul - RDB_ARENA_END, NULL)
		       ? -errno
		       : 0;
}

int boundary_signal_stack(const struct thread *t)
{
	stack_t alt = {.ss_sp = t->signal_stack, .ss_size = SIGNAL_STACK};
	return sigaltstack(&alt, NULL) ? -errno : 0;
}

int boundary_init(void)
{
	int rc = boundary_signal_stack(thread_self());
	if (!rc)
		rc = map_gate();
	if (!rc)
		rc = handle(SIGSYS, on_sigsys, SA_NODEFER);
	if (!rc)
		rc = handle(SIGTRAP, on_sigtrap, SA_NODEFER);
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults) && !rc; i++)
		rc = handle(faults[i], on_fault, SA_NODEFER);
	return rc ? rc : boundary_dispatch_on();
}

void boundary_resume(void (*fill)(ucontext_t *uc))
{
	resume_fill = fill;
	int rc = handle(SIGUSR2, on_resume, SA_RESETHAND);
	if (rc || raise(SIGUSR2))
		rdb_fatal("cannot enter the program: %s", strerror(rc ? -rc : errno));
	__builtin_unreachable();
}

bool boundary_in_gate(uint64_t pc)
{
	return pc == (uint64_t)gate_entry || pc == (uint64_t)gate_upcall_return || pc == (uint64_t)hot_gate;
}

bool boundary_leaving(ucontext_t *uc)
{
	uint64_t pc = UC_PC(uc);
	bool out = pc >= (uint64_t)gate_entry && pc < (uint64_t)gate_upcall && RDB_IS_UPPER(UC_SP(uc));
	if (!out && !(pc >= (uint64_t)gate_upcall && pc < (uint64_t)gate_upcall_return))
		return false;
	thread_self()->trap_in_flight = true;
	uc_step(uc, true);
	return true;
}

void boundary_replica_forked(void)
{
	lower.pid = (pid_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (boundary_dispatch_on())
		_exit(125);
}
