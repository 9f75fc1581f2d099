/* The modes in which the log answers; restart/modes.c has one more. */
#include "seek/modes.h"
#include <sys/syscall.h>
#include <sys/uio.h>
#include "replay/expand.h"
#include "replay/looks.h"

void modes_answered(ucontext_t *uc)
{
	replay_look_ahead();
	looks_ahead(uc);
	agent_event(lower.event, uc);
}

static void show_output(const struct event *ev)
{
	if (ev->nr == SYS_write || ev->nr == SYS_pwrite64 || ev->nr == SYS_sendto) {
		if (ev->result > 0)
			agent_output((int)ev->args[0], (const void *)ev->args[1], (uint64_t)ev->result);
	} else if (ev->nr == SYS_writev) {
		const struct iovec *iov = (const void *)ev->args[1];
		uint64_t left = ev->result > 0 ? (uint64_t)ev->result : 0;
		for (uint64_t i = 0; i < ev->args[2] && left; i++) {
			uint64_t n = iov[i].iov_len < left ? iov[i].iov_len : left;
			agent_output((int)ev->args[0], iov[i].iov_base, n);
			left -= n;
		}
	}
}

static void expand_call(struct event *ev, struct gate_frame *frame)
{
	replay_call_between(ev, frame, expand_asked, expand_answered);
}

static void expand_offer(struct rdb_host *host)
{
	host->fate = expand_fate;
	host->comes = expand_comes;
	host->agrees = expand_agrees;
	host->waits = expand_waits;
	host->looked = expand_looked;
}

const struct mode mode_verify = {MODE_REPLAYS, .question = replay_question, .call = replay_call,
				 .answered = modes_answered};

const struct mode mode_expand = {
	MODE_REPLAYS,
	.expands = true,
	.question = replay_question,
	.call = expand_call,
	.answered = modes_answered,
	.offer = expand_offer,
};

const struct mode mode_replica = {
	MODE_REPLAYS,
	.serves = true,
	.question = replay_question,
	.call = replay_call,
	.answered = modes_answered,
	.after_syscall = show_output,
	.at_end = agent_end,
	.at_divergence = agent_diverged,
	.at_fault = agent_fault,
};
