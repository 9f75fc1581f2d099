/* What traced steps wrote over, so that memory before each of them can be told from memory after all. */
#ifndef RDB_UNDO_LOG_H
#define RDB_UNDO_LOG_H
#include <stdbool.h>
#include <stdint.h>
#include "agent/agent.h"

/* Keeps what is written from now on, or nothing. */
void undo_log_begin(bool keep);
/* The instruction that is carried out next is this step. */
void undo_log_step(uint64_t step);
/* Nobody knows what this step writes. */
void undo_log_unknown(uint64_t step);
void undo_log_end(void);

/* The first step from which on the log is whole, and the log in two parts, oldest first. */
uint64_t undo_log(const struct agent_undo *part[2], unsigned count[2]);

#endif
