/* seccomp(2) and prctl(2) with PR_SET_SECCOMP: the program's own filters, which the lower half carries out
 * (crossing/filters.h). */
#pragma once
#include <ucontext.h>
#include "base/thread.h"
#include "crossing/event.h"

/* While recording: what the kernel would answer. */
long seccomp_answered(const struct event *ev);
/* After the answer, in every mode: the filter applies from now on. */
void seccomp_done(const struct event *ev);
/* Notes what the call reads. */
void in_seccomp(struct event *ev);
/* PR_GET_SECCOMP, and the same of any thread; the number of its filters.  Those of the kernel that this process began
 * with count, too: `kernel` is their number. */
int seccomp_mode(const struct thread *t, unsigned kernel);
unsigned seccomp_filters(const struct thread *t, unsigned kernel);

/* The thread has filters, and asks for the call of uc.  True: they do not allow it, and all is done. */
bool seccomp_forbids(ucontext_t *uc, uint32_t nr, const uint64_t args[6]);
