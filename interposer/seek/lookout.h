/* What an expression depends on, looked at after each event of one RUN (AGENT_RUN_LOOKOUT): registers and bytes that
 * were so when it was evaluated, and folds over arrays, whose values are noted. */
#ifndef RDB_LOOKOUT_H
#define RDB_LOOKOUT_H
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "seek/agent.h"

enum lookout {
	LOOKOUT_SAME,  /* or noted */
	LOOKOUT_FULL,  /* noted, and no more can be */
	LOOKOUT_OTHER, /* nothing that is known is so here */
};

/* 0 or -EINVAL. */
int lookout_set(uint64_t number, const struct agent_lookout *wanted);
/* A RUN begins, for those before number `sets`. */
void lookout_begin(uint64_t event, uint64_t sets);
void lookout_end(void);
bool lookout_wanted(void);
/* EVENT has been answered. */
enum lookout lookout_event(uint64_t event, const ucontext_t *uc);
/* What was noted in the RUN before, oldest first; *checked: the last event at which one was as it was. */
unsigned lookout_seen(const struct agent_seen **list, uint64_t *checked);

#endif
