/* Shared memory in a replay, and System V shared memory in both. */
#pragma once
#include "log/parts.h"

/* In replay: adds the aliases of what this event has mapped or begins to follow. */
void shared_aliases_recorded(void);
/* In replay: was the mapping of this event shared?  Then maps it with its contents, and sets *rc. */
bool shared_map_recorded(uint64_t at, size_t len, int prot, long *rc);
/* In replay: did the event leave such a mapping at its old place?  Then maps it again.  Call before
 * shared_map_recorded(), which fills it. */
bool shared_left_recorded(uint64_t at, size_t len);
/* In replay: the first piece of [*start, *end) that shared_note_parts() has noted; false: there is none. */
bool shared_noted(uint64_t *start, uint64_t *end);
/* In replay: stores bytes that an event found in memory. */
void shared_apply(uint64_t addr, const void *data, size_t len);
/* In replay: stores bytes as the program does through /proc/self/mem. */
void shared_force(uint64_t addr, const void *data, size_t len);
struct log_record;
/* Text for a divergence before the recorded event `next`: which stores of others were seen since event `agreed`, at
 * which memory agreed; "": none. */
const char *shared_suspicion(const struct log_record *next, uint64_t agreed);

long shared_shmat(struct event *ev, ucontext_t *uc);
long shared_shmdt(struct event *ev, ucontext_t *uc);
