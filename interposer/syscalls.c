#include <errno.h>
#include <linux/futex.h>
#include <asm/prctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "arena.h"
#include "boundary.h"
#include "descriptors.h"
#include "ioctls.h"
#include "loader.h"
#include "log_writer.h"
#include "memory_calls.h"
#include "prctl_calls.h"
#include "process.h"
#include "replay.h"
#include "replica.h"
#include "signals.h"
#include "syscall_outputs.h"

/* the kernel's own list: headers may be older */
enum {
#define NR(name, number) NR_##name = number,
#include "syscall_numbers.def"
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

static inline bool replaying(void)
{
	return lower.mode == MODE_VERIFY || lower.mode == MODE_REPLICA;
}

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

static long call_sigpending(struct event *ev, ucontext_t *uc)
{
	if (A(1) > 8)
		return -EINVAL;
	memset(P(0), 0, A(1)); /* what arrives is delivered at the same event */
	return 0;
}

static long call_sigaltstack(struct event *ev, ucontext_t *uc)
{
	return signals_sigaltstack(P(0), P(1), uc);
}

static long call_arch_prctl(struct event *ev, ucontext_t *uc)
{
	switch (A(0)) {
	case ARCH_SET_FS: lower.upper.fs_base = A(1); return 0;
	case ARCH_GET_FS: *(uint64_t *)P(1) = lower.upper.fs_base; return 0;
	case ARCH_SET_GS: __builtin_ia32_wrgsbase64(A(1)); return 0;
	case ARCH_GET_GS: *(uint64_t *)P(1) = __builtin_ia32_rdgsbase64(); return 0;
	default: return -EINVAL; /* CET, AMX and the like: not offered */
	}
}

static long call_set_tid_address(struct event *ev, ucontext_t *uc)
{
	lower.upper.clear_child_tid = A(0);
	return replaying() && lower.started ? ev->result : lower.pid; /* as recorded */
}

static long call_set_robust_list(struct event *ev, ucontext_t *uc)
{
	lower.upper.robust_list = A(0);
	lower.upper.robust_len = A(1);
	return 0;
}

/* One thread: nobody waits, and to wait would be for ever. */
static long call_futex(struct event *ev, ucontext_t *uc)
{
	switch (A(1) & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE: return 0;
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		if (*(uint32_t *)P(0) != (uint32_t)A(2))
			return -EAGAIN;
		if (P(3))
			return -ETIMEDOUT;
		rdb_fatal("the only thread of the program waits on a futex for ever");
	default: return -ENOSYS;
	}
}

static long call_close_range(struct event *ev, ucontext_t *uc)
{
	unsigned last = (unsigned)A(1);
	if (replaying())
		return 0;
	if (A(0) > last)
		return -EINVAL;
	return descriptors_close_range((unsigned)A(0), last, (unsigned)A(2));
}

static long call_exit(struct event *ev, ucontext_t *uc)
{
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
#include "syscalls.def"
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

/* libmpi is opened: the program gets our stub instead (GDB finds it by the recorded path). */
static const char *redirected(const char *path)
{
	const char *base = path ? strrchr(path, '/') : NULL;
	if (!base || strncmp(base, "/libmpi.so.40", 13) || !lower.opt.mpi_stub || lower.mode == MODE_VERIFY ||
	    access(path, R_OK))
		return path;
	return lower.opt.mpi_stub;
}

static long pass(struct event *ev, ucontext_t *uc, bool *in_child)
{
	uint64_t a[6];
	memcpy(a, ev->args, sizeof(a));
	switch (ev->nr) {
	case SYS_fork:
	case SYS_vfork:
	case SYS_clone:
	case SYS_clone3: return process_fork(ev, uc, in_child);
	case SYS_execve:
	case SYS_execveat: return process_exec(ev);
	case SYS_readlink:
		if (self_exe((const char *)a[0]))
			return call_readlink(ev, (const char *)a[0], (char *)a[1], a[2]);
		break;
	case SYS_readlinkat:
		if (self_exe((const char *)a[1]))
			return call_readlink(ev, (const char *)a[1], (char *)a[2], a[3]);
		break;
	case SYS_open:
		a[0] = (uint64_t)(self_exe((const char *)a[0]) ? lower.upper.exe : redirected((const char *)a[0]));
		break;
	case SYS_openat: {
		const char *asked = (const char *)a[1];
		const char *path = self_exe(asked) ? lower.upper.exe : redirected(asked);
		if (path != asked && path == lower.opt.mpi_stub)
			memory_alias(lower.opt.mpi_stub, asked);
		a[1] = (uint64_t)path;
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
		return signals_syscall(SYS_pause, none);
	}
	return signals_syscall(ev->nr, a);
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
	struct event *ev = event_begin(LOG_SYSCALL, (uint32_t)nr, args, 6);
	bool answered = lower.started && replaying();

	if (nr == SYS_rt_sigsuspend)
		signals_suspend(*(const uint64_t *)args[0]);

	if (class == UNKNOWN && !lower.opt.lax)
		rdb_fatal(
			"the program makes system call %lu, which is not supported yet; --lax records it all the same",
			(unsigned long)nr);
	if (class == DENY)
		rdb_fatal("the program %s: not supported yet", row->why);
	if (answered && !(class == EMU && row->emu == call_exit))
		event_replay(ev, uc);
	if (class == EMU) {
		int64_t recorded = ev->result;
		ev->result = row->emu(ev, uc);
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
		if (row && lower.mode == MODE_RECORD && lower.started)
			log_outputs(ev, row);
	} else if (lower.mode == MODE_REPLICA) {
		show_output(ev);
	}
	UC_REG(uc, RAX) = (uint64_t)ev->result;
	if (ev->result == SIGNALS_RESTART) {
		/* the handler comes first, then the program makes the call again */
		UC_REG(uc, RAX) = nr;
		UC_REG(uc, RIP) -= 2;
	}
	event_end(ev);
	event_answered(uc);
}
