/* Events that repeat in a cycle, such as a loop over several requests that are not complete (log_format.h). */
#pragma once
#include "log/parts.h"

/* The event does not differ from the model `at`.  1: counted as the next turn of a cycle; 0: it is to be appended;
 * -errno as log_append(). */
int log_cycle_turn(const struct event *ev, uint32_t at);
/* It was appended as a short record without a mask. */
void log_cycle_appended(const struct event *ev, uint32_t at);
