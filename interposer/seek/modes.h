/* What the modes in which the log answers have in common. */
#pragma once
#include "replay/replay.h"
#include "replay/replica.h"
#include "seek/stepping.h"

/* Looks ahead in the log; then the agent may stop. */
void modes_answered(ucontext_t *uc);

#define MODE_REPLAYS \
	.asked = stepping_asked, .trap = agent_sigtrap, .fault = agent_faulted, .raises = agent_raises, \
	.handled = agent_handled, .leaves = agent_leaves, .remapped = stepping_remapped, \
	.reprotected = stepping_reprotected, .answer = replay_answer, .record = replay_record, \
	.next = replay_next_record, .switched = stepping_switched, .ended = replay_ended, .signals = replay_signals, \
	.killed = replay_fault, .exits = replay_exits, .diverged = replay_diverged, .damaged = replay_damaged
