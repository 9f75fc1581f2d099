/* The mode of a recording: the world answers, and the answers are logged. */
#include "crossing/boundary.h"
#include "record/checkpoints.h"
#include "task/baton.h"

static void answered(ucontext_t *uc)
{
	checkpoint_if_due(uc);
	event_hash_if_due();
	if (!uc && thread_self()->look_missed && baton_spin(NULL))
		boundary_trap_on_return();
}

static void told(bool by_timer)
{
	checkpoint_request();
}

const struct mode mode_record = {
	.records = true,
	.before_syscall = checkpoint_before,
	.answered = answered,
	.trapped = checkpoint_at_trap,
	.forked = checkpoints_forked,
	.end = checkpoints_end,
	.wanted = checkpoint_request,
	.told = told,
	.point = checkpoint_point,
	.called = checkpoint_called,
};
