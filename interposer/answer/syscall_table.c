#include "answer/syscall_table.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "answer/memory_calls.h"
#include "base/descriptors.h"
#include "base/user.h"
#include "answer/process.h"
#include "answer/shared_calls.h"
#include "task/signals.h"
#include "answer/syscall_outputs.h"
#include "task/thread.h"

/* the kernel's own list: headers may be older */
enum {
#define NR(name, number) NR_##name = number,
#include "arch/syscall_numbers.def"
#undef NR
};

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

/* ---- answered here, in the same way in every mode ---- */

static long call_sigaction(struct event *ev, ucontext_t *uc)
{
	return signals_sigaction((int)A(0), A(1), A(2), A(3));
}

static long call_sigprocmask(struct event *ev, ucontext_t *uc)
{
	return signals_sigprocmask((int)A(0), A(1), A(2), A(3));
}

static long call_sigreturn(struct event *ev, ucontext_t *uc)
{
	signals_sigreturn(uc);
	return (long)UC_RESULT(uc);
}

static long call_sigaltstack(struct event *ev, ucontext_t *uc)
{
	return signals_sigaltstack(A(0), A(1), uc);
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
	if (A(1) != sizeof(struct robust_list_head))
		return -EINVAL;
	u->robust_list = A(0);
	u->robust_len = A(1);
	/* other processes may wait for a robust mutex that it holds when it is killed */
	return replaying() ? 0 : raw_syscall(SYS_set_robust_list, (long)A(0), (long)A(1), 0, 0, 0, 0);
}

static long call_close_range(struct event *ev, ucontext_t *uc)
{
	unsigned last = (unsigned)A(1);
	if (replaying())
		return (long)ev->result; /* a replica has none of the program's descriptors */
	if (A(0) > last)
		return -EINVAL;
	return descriptors_close_range((unsigned)A(0), last, (unsigned)A(2));
}

long call_exit(struct event *ev, ucontext_t *uc)
{
	if (ev->nr == SYS_exit && threads_alive() > 1) {
		thread_dying();
		return 0;
	}
	if (lower.mode->exits) {
		lower.mode->exits((int)A(0) & 0xff, uc);
		return 0;
	}
	boundary_final_hash();
	boundary_end(LOG_END_EXIT, (int)A(0) & 0xff, NULL);
	for (;;)
		raw_syscall(SYS_exit_group, (long)A(0), 0, 0, 0, 0, 0);
}

#define BRACED(values...) \
	{ \
		values \
	}
#define NOTHING BRACED(O_END, 0, 0, 0, NULL)
#define FIX(a, n) BRACED(O_FIX, a, n, 0, NULL)
#define RET(a, n) BRACED(O_RET, a, n, 0, NULL)
#define CAP(a, c) BRACED(O_CAP, a, c, 0, NULL)
#define VAL(a, l) BRACED(O_VAL, a, l, 0, NULL)
#define ARR(a, c, n) BRACED(O_ARR, a, c, n, NULL)
#define ERR(a, n) BRACED(O_ERR, a, n, 0, NULL)
#define FN(f) BRACED(O_FN, 0, 0, 0, f)
#define ROW(nm, values...) BRACED(.name = nm, values)
#define ROW_PASS(nm, spec...) ROW(nm, .class = PASS, .out = spec)
#define ROW_FAIL(nm, err, reason) ROW(nm, .class = FAIL, .error = err, .why = reason)
#define ROW_SAME(nm, err, reason) ROW(nm, .class = FAIL, .error = err, .why = reason, .quiet = true)
#define ROW_NONE(nm, reason) ROW_FAIL(nm, ENOSYS, reason)
#define ROW_EMU(nm, f) ROW(nm, .class = EMU, .emu = f)
#define SYS(nm, class, what...) [NR_##nm] = ROW_##class(#nm, what),

static const struct row rows[] = {
#include "answer/syscalls.def"
};
enum { NROWS = sizeof(rows) / sizeof(*rows) };

/* No kernel has calls from this number on: the list grows by some five a year.  Programs ask for -1 or 9999 to see what
 * a missing call does. */
enum { NO_CALLS = 1000 };
static const struct row no_call = ROW_SAME(NULL, ENOSYS, NULL);

const struct row *syscall_row(uint64_t nr)
{
	return nr < NROWS ? &rows[nr] : nr >= NO_CALLS ? &no_call : NULL;
}

static const char *const kinds[] = {
#define NARROW(nm, of_arguments) [NR_##nm] = of_arguments,
#include "answer/syscall_widths.def"
#undef NARROW
};

void syscall_narrow(uint64_t nr, uint64_t args[6])
{
	const char *kind = nr < sizeof(kinds) / sizeof(*kinds) ? kinds[nr] : NULL;
	for (uint64_t *a = args; kind && *kind; kind++, a++) {
		const uint64_t positive = (uint32_t)*a, negative = (uint64_t)(int32_t)*a;
		if (*kind != '-' && *a != positive && *a != negative)
			*a = *kind == 'i' ? negative : positive;
	}
}

/* A call that failed with EFAULT may have written to each writable argument, up to the first unmapped page
 * (copy_to_user). */
static void out_until_fault(struct event *ev)
{
	for (unsigned i = 0; i < 6; i++)
		out_writable(ev, A(i), 2 * RDB_PAGE);
}

void syscall_row_outputs(struct event *ev, const struct row *row)
{
	bool ok = ev->result >= 0 || ev->result < -4095;
	if (ev->result == -EFAULT && row->out.kind != O_END) {
		out_until_fault(ev);
		return;
	}
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
		/* security/lsm_syscalls.c: without a buffer, or with one that is too small, it says how large it must be */
		if (!ok && ev->result != -E2BIG && ev->result != -EOPNOTSUPP)
			break;
		if (ok && P(row->out.arg) && P(row->out.n))
			out_writable(ev, A(row->out.arg), *(uint32_t *)P(row->out.n));
		out_writable(ev, A(row->out.n), 4);
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
