/* prctl: some forms are answered here, the others go to the kernel. */
#pragma once
#include "crossing/event.h"

/* While recording: answers a form that the kernel must not carry out on us (*result), or returns false. */
bool prctl_answered(struct event *ev, long *result);
/* After an answer, in every mode: keeps what the program has set. */
void prctl_done(const struct event *ev);
void out_prctl(struct event *ev);
/* After a call that the kernel has answered: if it made the process not dumpable, undoes that, as above. */
void prctl_user_changed(uint64_t nr);
