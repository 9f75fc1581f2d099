/* Keeps what traced steps overwrote.  Memory before each step follows from memory after all of them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "interface/agent.h"

/* Keeps what is written from now on, or nothing. */
void undo_log_begin(bool keep);
/* The instruction that is carried out next is this step. */
void undo_log_step(uint64_t step);
/* What this step writes is unknown. */
void undo_log_unknown(uint64_t step);
void undo_log_end(void);

/* The first step from which the log is complete. */
uint64_t undo_log_first(void);
/* Bytes that were read at addr become what they were before that step. */
void undo_log_apply(uint64_t step, uint64_t addr, uint8_t *bytes, uint64_t len);
