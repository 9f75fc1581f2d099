/* Checks what an expression depends on after each event of one RUN (AGENT_RUN_LOOKOUT): registers and bytes that must
 * be as they were when it was evaluated, and folds over arrays, whose values are recorded. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "interface/agent.h"

enum lookout {
	LOOKOUT_SAME,  /* a set matches; its values are recorded if they are new */
	LOOKOUT_FULL,  /* the same, and the list is full */
	LOOKOUT_OTHER, /* no set matches */
};

/* 0 or -EINVAL. */
int lookout_set(uint64_t number, const struct agent_lookout *wanted);
/* A RUN begins, with the sets before number `sets`. */
void lookout_begin(uint64_t event, uint64_t sets);
void lookout_end(void);
bool lookout_wanted(void);
/* EVENT has been answered. */
enum lookout lookout_event(uint64_t event, const ucontext_t *uc);
/* Values recorded in the last RUN, oldest first.  *checked: the last event at which a set matched. */
unsigned lookout_seen(const struct agent_seen **list, uint64_t *checked);
