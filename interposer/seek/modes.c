/* The modes in which the log answers; restart/live/modes.c has one more. */
#include "seek/modes.h"
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "replay/deliver.h"
#include "replay/expand.h"
#include "replay/poll_replay.h"
#include "seek/output.h"

void modes_answered(ucontext_t *uc)
{
	replay_look_ahead();
	poll_replay_ahead(uc);
	agent_event(lower.event, uc);
}

static void show_parts(uint64_t fd, const struct iovec *part, uint64_t n, uint64_t left)
{
	for (; n && left; part++, n--) {
		const uint64_t len = part->iov_len < left ? part->iov_len : left;
		output_written((int)fd, part->iov_base, len);
		left -= len;
	}
}

/* What the program writes of its memory. */
static void show_output(const struct event *ev)
{
	const uint64_t *a = ev->args, done = ev->result > 0 ? (uint64_t)ev->result : 0;
	const struct iovec all = {(void *)a[1], a[2]};
	const struct mmsghdr *m = (const void *)a[1];
	if (!done)
		return;
	switch (ev->nr) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto: show_parts(a[0], &all, 1, done); break;
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2: show_parts(a[0], (const void *)a[1], a[2], done); break;
	case SYS_sendmsg: show_parts(a[0], m->msg_hdr.msg_iov, m->msg_hdr.msg_iovlen, done); break;
	case SYS_sendmmsg:
		for (uint64_t i = 0; i < done; i++)
			show_parts(a[0], m[i].msg_hdr.msg_iov, m[i].msg_hdr.msg_iovlen, m[i].msg_len);
		break;
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
	MODE_REPLAYS,          .question = replay_question, .call = expand_call, .answered = modes_answered,
	.offer = expand_offer,
};

const struct mode mode_deliver = {
	MODE_REPLAYS,
	.question = replay_question,
	.call = replay_call,
	.answered = modes_answered,
	.taking = deliver_taking,
};

const struct mode mode_replica = {
	MODE_REPLAYS,
	.question = replay_question,
	.call = replay_call,
	.answered = modes_answered,
	.after_syscall = show_output,
	.at_end = agent_end,
	.at_divergence = agent_diverged,
	.at_fault = agent_fault,
};
