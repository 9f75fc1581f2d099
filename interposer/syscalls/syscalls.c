#include <errno.h>
#include <asm/prctl.h>
#include <stdio.h>
#include <string.h>
#include <linux/sched.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "memory/arena.h"
#include "threads/blocking.h"
#include "boundary/boundary.h"
#include "process/descriptors.h"
#include "syscalls/socket_notes.h"
#include "syscalls/ioctls.h"
#include "live/kernel_files.h"
#include "live/live.h"
#include "live/open_files.h"
#include "process/loader.h"
#include "log/log_writer.h"
#include "memory/memory_calls.h"
#include "syscalls/prctl_calls.h"
#include "syscalls/proc_files.h"
#include "process/process.h"
#include "replay/replay.h"
#include "replay/replica.h"
#include "memory/shared_memory.h"
#include "signals/signals.h"
#include "syscalls/syscall_outputs.h"
#include "threads/thread.h"
#include "threads/waited.h"

/* the kernel's own list: headers may be older */
enum {
#define NR(name, number) NR_##name = number,
#include "syscalls/syscall_numbers.def"
#undef NR
};

enum class { UNKNOWN, PASS, EMU, DENY, FAIL };
enum out_kind { O_END, O_FIX, O_RET, O_CAP, O_VAL, O_ARR, O_ERR, O_FN };

struct row;
typedef void out_fn(struct event *ev);
typedef long emu_fn(struct event *ev, ucontext_t *uc);

struct row {
	const char *name;
	enum class class;
	struct {
		enum out_kind kind;
		unsigned arg, n, m;
		out_fn *fn;
	} out;
	emu_fn *emu;
	const char *why;
	int error; /* FAIL */
};

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

/* ---- emulated ---- */

static long call_sigaction(struct event *ev, ucontext_t *uc)
{
	return signals_sigaction((int)A(0), P(1), P(2), A(3));
}

static long call_sigprocmask(struct event *ev, ucontext_t *uc)
{
	return signals_sigprocmask((int)A(0), P(1), P(2), A(3));
}

static long call_sigreturn(struct event *ev, ucontext_t *uc)
{
	signals_sigreturn(uc);
	return (long)UC_REG(uc, RAX);
}

static long call_sigaltstack(struct event *ev, ucontext_t *uc)
{
	return signals_sigaltstack(P(0), P(1), uc);
}

static long call_arch_prctl(struct event *ev, ucontext_t *uc)
{
	switch (A(0)) {
	case ARCH_SET_FS: thread_self()->upper.fs_base = A(1); return 0;
	case ARCH_GET_FS: *(uint64_t *)P(1) = thread_self()->upper.fs_base; return 0;
	case ARCH_GET_GS: *(uint64_t *)P(1) = 0; return 0;
	case ARCH_SET_GS:
		if (A(1))
			rdb_fatal("the program uses the GS base (arch_prctl), which rdb needs for itself");
		return 0;
	default: return -EINVAL; /* CET, AMX and the like: not offered */
	}
}

static long call_set_tid_address(struct event *ev, ucontext_t *uc)
{
	struct upper_thread *u = &thread_self()->upper;
	u->clear_child_tid = A(0);
	return u->tid;
}

static long call_set_robust_list(struct event *ev, ucontext_t *uc)
{
	struct upper_thread *u = &thread_self()->upper;
	u->robust_list = A(0);
	u->robust_len = A(1);
	return 0;
}

static long call_close_range(struct event *ev, ucontext_t *uc)
{
	unsigned last = (unsigned)A(1);
	if (replaying())
		return (long)ev->result; /* there are no descriptors */
	if (A(0) > last)
		return -EINVAL;
	return descriptors_close_range((unsigned)A(0), last, (unsigned)A(2));
}

static long call_exit(struct event *ev, ucontext_t *uc)
{
	if (ev->nr == SYS_exit && threads_alive() > 1) {
		thread_dying();
		return 0;
	}
	if (replaying()) {
		replay_ended(uc);
		return 0;
	}
	boundary_final_hash();
	boundary_end(LOG_END_EXIT, (int)A(0) & 0xff, NULL);
	for (;;)
		raw_syscall(SYS_exit_group, (long)A(0), 0, 0, 0, 0, 0);
}

/* ---- the table ---- */

#define NOTHING \
	{ \
		O_END, 0, 0, 0, NULL \
	}
#define FIX(a, n) \
	{ \
		O_FIX, a, n, 0, NULL \
	}
#define RET(a, n) \
	{ \
		O_RET, a, n, 0, NULL \
	}
#define CAP(a, c) \
	{ \
		O_CAP, a, c, 0, NULL \
	}
#define VAL(a, l) \
	{ \
		O_VAL, a, l, 0, NULL \
	}
#define ARR(a, c, n) \
	{ \
		O_ARR, a, c, n, NULL \
	}
#define ERR(a, n) \
	{ \
		O_ERR, a, n, 0, NULL \
	}
#define FN(f) \
	{ \
		O_FN, 0, 0, 0, f \
	}
#define ROW_PASS(nm, spec...) \
	{ \
		.name = nm, .class = PASS, .out = spec \
	}
#define ROW_FAIL(nm, err, reason) \
	{ \
		.name = nm, .class = FAIL, .error = err, .why = reason \
	}
#define ROW_NONE(nm, reason) ROW_FAIL(nm, ENOSYS, reason)
#define ROW_EMU(nm, f) \
	{ \
		.name = nm, .class = EMU, .emu = f \
	}
#define ROW_DENY(nm, reason) \
	{ \
		.name = nm, .class = DENY, .why = reason \
	}
#define SYS(nm, class, what...) [NR_##nm] = ROW_##class(#nm, what),

static const struct row rows[] = {
#include "syscalls/syscalls.def"
};
enum { NROWS = sizeof(rows) / sizeof(*rows) };

static void log_outputs(struct event *ev, const struct row *row)
{
	bool ok = ev->result >= 0 || ev->result < -4095;
	switch (row->out.kind) {
	case O_END: break;
	case O_FIX:
		if (ok)
			out_if(ev, A(row->out.arg), row->out.n);
		break;
	case O_RET:
		if (ev->result > 0)
			out_if(ev, A(row->out.arg), (uint64_t)ev->result * row->out.n);
		break;
	case O_CAP:
		if (ev->result > 0)
			out_if(ev, A(row->out.arg),
			       A(row->out.n) < (uint64_t)ev->result ? A(row->out.n) : (uint64_t)ev->result);
		break;
	case O_VAL:
		if (ok && P(row->out.arg) && P(row->out.n)) {
			out_if(ev, A(row->out.arg), *(uint32_t *)P(row->out.n));
			out_if(ev, A(row->out.n), 4);
		}
		break;
	case O_ARR:
		if (ok)
			out_if(ev, A(row->out.arg), A(row->out.n) * row->out.m);
		break;
	case O_ERR:
		if (ev->result == -EINTR)
			out_if(ev, A(row->out.arg), row->out.n);
		break;
	case O_FN: row->out.fn(ev); break;
	}
}

/* Opened for writing: how much was in it. */
static void note_opened(struct event *ev)
{
	struct stat st;
	bool creat = ev->nr == SYS_creat;
	if (!creat && ev->nr != SYS_open && ev->nr != SYS_openat)
		return;
	if (ev->result < 0 || (!creat && (A(ev->nr == SYS_open ? 1 : 2) & O_ACCMODE) == O_RDONLY))
		return;
	if (fstat((int)ev->result, &st) || !S_ISREG(st.st_mode))
		return;
	struct rdb_note_opened note = {.size = (uint64_t)st.st_size};
	event_note(ev, RDB_NOTE_OPENED, &note, sizeof(note));
}

/* The program asks for /proc/self/exe: that is us. */
static bool self_exe(const char *path)
{
	char own[32];
	snprintf(own, sizeof(own), "/proc/%d/exe", lower.pid);
	return path && (!strcmp(path, "/proc/self/exe") || !strcmp(path, own));
}

static long call_readlink(struct event *ev, const char *path, char *buf, size_t size)
{
	size_t len = strlen(lower.upper.exe);
	if (len > size)
		len = size;
	memcpy(buf, lower.upper.exe, len);
	return (long)len;
}

/* A library in front of the gate is opened: the program gets our stub instead (GDB finds it by the recorded
 * path). */
static bool names(const char *base, const char *library)
{
	return !strncmp(base, library, strlen(library));
}

/* The stub for the ABI of the MPI library that this is; all have the names of the libraries they stand for. */
static const char *mpi_stub_for(const char *base)
{
	const char *wanted = names(base, "/libmpi.so.12") ? "/libmpich.so.12"
							  : base; /* MPICH's own name and Debian's */
	for (unsigned i = 0; i < MPI_STUBS && lower.opt.mpi_stub[i]; i++) {
		const char *stub = strrchr(lower.opt.mpi_stub[i], '/');
		if (stub && names(wanted, stub))
			return lower.opt.mpi_stub[i];
	}
	return NULL;
}

static const char *redirected(const char *path)
{
	const char *base = path ? strrchr(path, '/') : NULL;
	if (!base || lower.mode == MODE_VERIFY)
		return path;
	const char *stub = names(base, "/libibverbs.so.1")  ? lower.opt.verbs_stub
			   : names(base, "/librdmacm.so.1") ? lower.opt.cm_stub
							    : mpi_stub_for(base);
	return stub && !access(path, R_OK) ? stub : path;
}

static long pending_signals(struct event *ev)
{
	uint64_t set = signals_pending();
	if (A(1) > sizeof(set))
		return -EINVAL;
	memcpy(P(0), &set, A(1));
	return 0;
}

/* The signal mask that a call brings for its duration, or NULL. */
static const uint64_t *mask_of_call(const struct event *ev)
{
	switch (ev->nr) {
	case SYS_rt_sigsuspend: return P(0);
	case SYS_ppoll: return P(3);
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2: return P(4);
	case SYS_pselect6: return P(5) ? *(const uint64_t *const *)P(5) : NULL;
	default: return NULL;
	}
}

static bool starts_thread(const struct event *ev, struct clone_request *r)
{
	if (ev->nr != SYS_clone && ev->nr != SYS_clone3)
		return false;
	*r = process_clone_request(ev);
	return r->flags & CLONE_THREAD;
}

static long pass(struct event *ev, ucontext_t *uc, bool *in_child)
{
	struct timespec left;
	uint64_t a[6];
	long made;
	memcpy(a, ev->args, sizeof(a));
	if (ev->waited_ns && waited_before(ev, a, &left))
		return 0;
	switch (ev->nr) {
	case SYS_getdents:
	case SYS_getdents64:
		if (proc_files_list((long)ev->nr, (int)a[0], (char *)a[1], a[2], &made))
			return made;
		break;
	case SYS_fork:
	case SYS_vfork:
	case SYS_clone:
	case SYS_clone3: return process_fork(ev, uc, in_child);
	case SYS_execve:
	case SYS_execveat: return process_exec(ev);
	case SYS_kill:
	case SYS_rt_sigqueueinfo: a[0] = threads_process_now(a[0]); break;
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		a[0] = threads_process_now(a[0]);
		a[1] = threads_number_now(a[1]);
		break;
	case SYS_tkill:
	case SYS_sched_setaffinity:
	case SYS_sched_getaffinity:
	case SYS_sched_setparam:
	case SYS_sched_getparam:
	case SYS_sched_setscheduler:
	case SYS_sched_getscheduler:
	case SYS_sched_setattr:
	case SYS_sched_getattr:
	case SYS_sched_rr_get_interval: a[0] = threads_number_now(a[0]); break;
	case SYS_setpriority:
	case SYS_getpriority:
		if (a[0] == PRIO_PROCESS)
			a[1] = threads_number_now(a[1]);
		break;
	case SYS_gettid:
		if (lower.upper.first_pid)
			return thread_self()->upper.tid;
		break;
	case SYS_futex: return blocking_futex(ev);
	case SYS_rt_sigpending: return pending_signals(ev);
	case SYS_rt_sigtimedwait: return signals_timedwait((void *)a[0], (void *)a[1], (void *)a[2], a[3]);
	/* their masks are ours: signals_suspend() */
	case SYS_ppoll: a[3] = 0; break;
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2: a[4] = 0; break;
	case SYS_pselect6: a[5] = 0; break;
	case SYS_readlink:
		if (self_exe((const char *)a[0]))
			return call_readlink(ev, (const char *)a[0], (char *)a[1], a[2]);
		break;
	case SYS_readlinkat:
		if (self_exe((const char *)a[1]))
			return call_readlink(ev, (const char *)a[1], (char *)a[2], a[3]);
		break;
	case SYS_open:
		if (proc_files_open((const char *)a[0], (unsigned)a[1], &made))
			return made;
		a[0] = (uint64_t)(self_exe((const char *)a[0]) ? lower.upper.exe : redirected((const char *)a[0]));
		a[0] = (uint64_t)open_files_path(AT_FDCWD, (const char *)a[0]);
		break;
	case SYS_openat: {
		const char *asked = (const char *)a[1];
		if (proc_files_open(asked, (unsigned)a[2], &made))
			return made;
		const char *path = self_exe(asked) ? lower.upper.exe : redirected(asked);
		if (path != asked && path != lower.upper.exe)
			memory_alias(path, asked);
		a[1] = (uint64_t)open_files_path((int)a[0], path);
		break;
	}
	case SYS_ioctl: {
		int refused = ioctl_refused((unsigned)a[1]);
		if (refused)
			return refused;
		break;
	}
	case SYS_prctl: {
		long result;
		if (prctl_answered(ev, &result))
			return result;
		break;
	}
	case SYS_signalfd:
	case SYS_signalfd4:
		if (a[2] == 8)
			signals_by_descriptor(*(const uint64_t *)a[1]);
		break;
	case SYS_close:
		if (descriptor_is_ours((int)a[0]))
			return -EBADF;
		break;
	case SYS_dup2:
	case SYS_dup3:
		if (descriptor_is_ours((int)a[1]))
			return -EBADF;
		break;
	}
	if (ev->nr == SYS_rt_sigsuspend) {
		const uint64_t none[6] = {0};
		return blocking_syscall(SYS_pause, none);
	}
	return blocking_syscall(ev->nr, a);
}

static void show_output(const struct event *ev)
{
	if (ev->nr == SYS_write || ev->nr == SYS_pwrite64 || ev->nr == SYS_sendto) {
		if (ev->result > 0)
			agent_output((int)A(0), P(1), (uint64_t)ev->result);
	} else if (ev->nr == SYS_writev) {
		const struct iovec *iov = P(1);
		uint64_t left = ev->result > 0 ? (uint64_t)ev->result : 0;
		for (uint64_t i = 0; i < A(2) && left; i++) {
			uint64_t n = iov[i].iov_len < left ? iov[i].iov_len : left;
			agent_output((int)A(0), iov[i].iov_base, n);
			left -= n;
		}
	}
}

void syscall_event(ucontext_t *uc)
{
	uint64_t nr = UC_REG(uc, RAX);
	const uint64_t args[6] = {UC_REG(uc, RDI), UC_REG(uc, RSI), UC_REG(uc, RDX),
				  UC_REG(uc, R10), UC_REG(uc, R8),  UC_REG(uc, R9)};
	const struct row *row = nr < NROWS ? &rows[nr] : NULL;
	enum class class = row ? row->class : UNKNOWN;
	if (!lower.started && (nr == SYS_clone || nr == SYS_clone3 || nr == SYS_fork || nr == SYS_vfork))
		boundary_started_early(uc);
	struct event *ev = event_begin(LOG_SYSCALL, (uint32_t)nr, args, 6);
	bool answered = lower.started && replaying();

	const uint64_t *mask = mask_of_call(ev);
	if (mask)
		signals_suspend(*mask);

	if (class == UNKNOWN && !lower.opt.lax)
		rdb_fatal(
			"the program makes system call %lu, which is not supported yet; --lax records it all the same",
			(unsigned long)nr);
	if (class == DENY)
		rdb_fatal("the program %s: not supported yet", row->why);
	const bool ends_thread = nr == SYS_exit && threads_alive() > 1;
	struct clone_request clone;
	if (answered && (ends_thread || !(class == EMU && row->emu == call_exit)))
		event_replay(ev, uc);
	if (class == EMU) {
		int64_t recorded = ev->result;
		ev->emulated = true;
		const bool parallel = lower.mode == MODE_PASS && !ends_thread && row->emu != call_exit;
		if (parallel)
			threads_lock();
		ev->result = row->emu(ev, uc);
		if (parallel)
			threads_unlock();
		if (answered && ev->result != recorded)
			replay_diverged(uc, "event %lu: %s gave %#lx, gives %#lx", (unsigned long)lower.event,
					row->name, (unsigned long)recorded, (unsigned long)ev->result);
	} else if (class == FAIL) {
		ev->result = -row->error;
	} else if (!answered) {
		bool in_child = false;
		ev->result = pass(ev, uc, &in_child);
		if (in_child)
			return; /* at its own event 0 */
		if (lower.opt.checkpoints_only && ev->result >= 0)
			kernel_files_syscall(ev);
		if (row && lower.mode == MODE_RECORD && lower.started) {
			log_outputs(ev, row);
			note_opened(ev);
			note_socket(ev);
		}
	} else {
		if (starts_thread(ev, &clone))
			thread_cloned(ev, uc, &clone);
		if (lower.mode == MODE_REPLICA)
			show_output(ev);
	}
	if (answered && restarting())
		live_syscall(ev);
	if (nr == SYS_prctl && A(0) == PR_SET_NAME && ev->result == 0)
		snprintf(thread_self()->upper.name, sizeof(thread_self()->upper.name), "%.15s", (const char *)P(1));
	UC_REG(uc, RAX) = (uint64_t)ev->result;
	if (ev->result == SIGNALS_RESTART) {
		/* the handler comes first, then the program makes the call again */
		UC_REG(uc, RAX) = nr;
		UC_REG(uc, RIP) -= 2;
	}
	event_end(ev);
	if (ends_thread)
		thread_self()->state = THREAD_ENDS;
	event_answered(thread_self()->hot ? NULL : uc);
	if (ends_thread)
		thread_exit(uc);
}
