/* Futexes with priority inheritance (futex(2)).  While recording one thread runs at a time, so there is nobody to lend
 * a priority to; and the kernel would mark such a word as waited for before the log has an answer.  So they are carried
 * out here, with plain futexes below, and each change of the word is an event.  The same after a restart, when the
 * kernel's thread ids are not those that the program has written to the word. */
#pragma once
#include "crossing/event.h"

bool pi_futex(const struct event *ev);
/* Operations that would hand waiters on to such a futex: the kernel's would not meet the ones here. */
bool pi_futex_requeues(int op);
/* Carries the call out.  Returns its result; the word is in ev. */
long pi_futex_call(struct event *ev, const uint64_t args[6]);
