/* Every change of some bytes in one RUN (AGENT_RUN_CHANGES): noted where a stop for each would cost more
 * than the change itself. */
#ifndef RDB_CHANGES_H
#define RDB_CHANGES_H
#include <stdbool.h>
#include <stdint.h>
#include "seek/agent.h"

/* From now on those at [addr, addr + len), until there are `most`.  -EINVAL: too long. */
int changes_begin(uint64_t addr, uint64_t len, uint64_t most);
void changes_end(void);
bool changes_wanted(void);
/* A watchpoint has been hit.  True: there are as many as are wanted. */
bool changes_add(uint64_t event, uint64_t pc, bool by_event);
/* Those of the RUN before, oldest first. */
unsigned changes(const struct agent_change **list);

#endif
