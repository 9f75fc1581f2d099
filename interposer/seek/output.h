/* What the program wrote while replayed (AGENT_OUTPUT). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "interface/agent.h"

void output_keep(bool on);
/* Written by the event that is being answered; before agent_event(). */
void output_written(int fd, const void *upper, uint64_t len);
void output_event(uint64_t event);
/* The oldest piece: its bytes stay valid until the next call.  False: no more. */
bool output_next(struct agent_output *piece, const void **bytes);
