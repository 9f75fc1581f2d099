/* Hypercalls and signals in a replay, answered from the log. */
#include "crossing/boundary.h"
#include "replay/poll_replay.h"
#include "replay/replay.h"
#include "task/signals.h"
#include "task/thread.h"

void replay_call_between(struct event *ev, struct gate_frame *frame, void (*asked)(const struct event *ev),
			 void (*answered)(const struct event *ev))
{
	replay_question(ev, NULL);
	for (turns_await(NULL); replay_upcall_next(); turns_await(NULL)) {
		uint64_t fn, args[6];
		replay_take_upcall(&fn, args, NULL);
		host_upcall(frame, fn, args);
	}
	if (asked)
		asked(ev);
	replay_answer(ev, NULL);
	if (answered)
		answered(ev);
	poll_replay_returning(frame, ev->result);
}

void replay_call(struct event *ev, struct gate_frame *frame)
{
	replay_call_between(ev, frame, NULL, NULL);
}

void replay_signals(ucontext_t *uc)
{
	siginfo_t info;
	int sig;
	if (!lower.started)
		return;
	if (!uc) {
		/* the next record decides; it is taken when the trap arrives */
		if (replay_signal_next())
			boundary_deliver_on_return();
		return;
	}
	while (replaying() && replay_take_signal(&sig, &info)) { /* one may be the cut */
		if (lower.mode->delivered)
			lower.mode->delivered(sig, &info);
		if (!signals_deliver(sig, &info, uc)) {
			replay_look_ahead();
			replay_fault(SIGSEGV, &info, uc);
		}
	}
}
