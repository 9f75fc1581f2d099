/* The mode of a replay that becomes the program again, and that of checkpoints without a log. */
#include "seek/modes.h"
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "record/checkpoints.h"
#include "restart/checkpoint/coordinated.h"
#include "restart/checkpoint/ipc_objects.h"
#include "restart/files/own_numbers.h"
#include "restart/live/live.h"
#include "restart/live/live_threads.h"
#include "restart/copies/mapped_files.h"
#include "restart/files/open_files.h"
#include "restart/process/attributes.h"
#include "restart/process/clocks.h"
#include "restart/process/identity.h"
#include "restart/process/posix_timers.h"
#include "restart/process/sent_signals.h"
#include "restart/memory/shared_again.h"
#include "restart/process/timers.h"
#include "task/thread.h"

/* ---- restart ---- */

static void question(struct event *ev, ucontext_t *uc)
{
	thread_self()->asked_ns = replay_now_ns();
	replay_question(ev, uc);
}

static void call(struct event *ev, struct gate_frame *frame)
{
	thread_self()->asked_ns = replay_now_ns();
	replay_call_between(ev, frame, live_hypercall_asked, live_hypercall_answered);
}

static void answered(ucontext_t *uc)
{
	clocks_answered(replay_record());
	if (tree() && shared_again_answered())
		return;
	if (live_due())
		live_at_event(uc);
	else
		modes_answered(uc);
}

static void taking(enum log_kind kind, uint32_t nr, const struct log_record *rec)
{
	if (tree())
		shared_again_asked();
	if (rec && kind == LOG_SYSCALL && rec->kind == kind && rec->nr == nr && rec->result >= 0)
		mapped_files_asked(nr, log_args(rec));
}

static void thread_ended(void)
{
	if (live_due())
		live_threads_ended();
}

static void refuse(const char *why) __attribute__((noreturn));

static void refuse(const char *why)
{
	live_refuse("%s", why);
}

static void delivered(int sig, const siginfo_t *info)
{
	sent_signals_delivered(sig);
	timers_delivered(sig);
	posix_timers_delivered(info);
}

static bool cut(ucontext_t *uc, uint32_t nr, const uint64_t *args)
{
	if (args ? !shared_again_cut(nr, args) : !live_due())
		return false;
	if (args)
		UC_PC(uc) -= SYSCALL_BYTES; /* the program asks again, as the branch */
	live_at_event(uc);
	return true;
}

static void offer(struct rdb_host *host)
{
	host->board = coordinated_board();
	host->branch = lower.opt.branch;
	host->descriptor = open_files_library;
}

const struct mode mode_restart = {
	MODE_REPLAYS,
	.question = question,
	.call = call,
	.after_syscall = live_syscall,
	.answered = answered,
	.trapped = live_at_trap,
	.offer = offer,
	.taking = taking,
	.thread_ended = thread_ended,
	.refuse = refuse,
	.delivered = delivered,
	.cut = cut,
};

/* ---- coordinated ---- */

static void before_syscall(const struct event *ev)
{
	own_numbers_closing(ev);
	checkpoint_before(ev);
}

static void after_syscall(const struct event *ev)
{
	if (ev->result < 0)
		return;
	own_numbers_syscall(ev);
	ipc_objects_syscall(ev);
	attributes_syscall(ev);
	identity_syscall(ev);
}

static void at_event(ucontext_t *uc)
{
	if (lower.checkpoint_waits)
		coordinated_at_event(uc);
}

static void forked(void)
{
	checkpoints_forked();
	coordinated_forked();
}

static void end(enum log_end how)
{
	coordinated_gone();
	if (how != LOG_END_EXEC)
		checkpoints_end(how);
}

static void offer_board(struct rdb_host *host)
{
	host->board = coordinated_board();
}

const struct mode mode_coordinated = {
	.before_syscall = before_syscall,
	.after_syscall = after_syscall,
	.answered = at_event,
	.trapped = coordinated_at_trap,
	.forked = forked,
	.end = end,
	.offer = offer_board,
	.wanted = coordinated_want,
	.told = coordinated_told,
	.point = coordinated_point,
	.called = coordinated_called,
	.due = coordinated_due,
	.hold = coordinated_hold,
	.away = coordinated_away,
};
