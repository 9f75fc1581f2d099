/* What traced steps wrote over, so that memory before each of them can be told from memory after all. */
#ifndef RDB_UNDO_LOG_H
#define RDB_UNDO_LOG_H
#include <stdbool.h>
#include <stdint.h>
#include "seek/agent.h"

/* Keeps what is written from now on, or nothing. */
void undo_log_begin(bool keep);
/* The instruction that is carried out next is this step. */
void undo_log_step(uint64_t step);
/* Nobody knows what this step writes. */
void undo_log_unknown(uint64_t step);
void undo_log_end(void);

/* The first step from which on the log is whole. */
uint64_t undo_log_first(void);
/* Bytes that were read at addr become what they were before that step. */
void undo_log_apply(uint64_t step, uint64_t addr, uint8_t *bytes, uint64_t len);

#endif
