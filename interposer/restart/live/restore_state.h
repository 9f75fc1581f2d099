/* Going on from a checkpoint without a log (restart/checkpoint/coordinated.h). */
#pragma once
#include <ucontext.h>

/* restore_state_prepare() checks the state beside image NUMBER and gives libraries what they had; restore_state(), with
 * the program's registers, lets the program go on. */
int restore_state_prepare(unsigned number);
int restore_state_check(unsigned number); /* is the state whole? */
void restore_state(ucontext_t *uc);
