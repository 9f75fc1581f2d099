/* Records every change of some bytes in one RUN (AGENT_RUN_CHANGES).  A stop for each would cost more than the change
 * itself. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "interface/agent.h"

/* Begins to record changes of [addr, addr + len), at most `most`.  -EINVAL: len is too long or `most` is 0. */
int changes_begin(uint64_t addr, uint64_t len, uint64_t most);
void changes_end(void);
bool changes_wanted(void);
/* A watchpoint has been hit: records the change.  True: `most` are recorded. */
bool changes_add(uint64_t event, uint64_t pc, bool by_event);
/* The changes of the last RUN, oldest first. */
unsigned changes(const struct agent_change **list);
