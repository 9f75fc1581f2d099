/* Processes of a rank that share memory take turns (floors.h): for which memory, and what happens at a turn. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The keys (floors.h) of all memory that others of the rank may write, up to `most` of them, and their number. */
unsigned shared_keys(uint64_t *keys, unsigned most);
struct stat;
/* Others of the rank have the file mapped, and this process is about to write to it.  True: its key is new. */
bool shared_writes_to(const struct stat *st);
/* Has more such memory come since they were asked for? */
bool shared_keys_due(void);
/* The key of a file or segment that is about to be mapped; 0: no turns are taken for it. */
uint64_t shared_key_of_file(int fd);
uint64_t shared_key_of_segment(int id, size_t len);
/* Other processes run from here on: all that this one has stored itself counts as seen. */
void shared_settle(void);
/* They have run: the next event compares all memory that they may have written. */
void shared_others_ran(void);
/* Call in the parent before a fork: from here on another process has the memory. */
void shared_before_fork(void);
/* In the child: does it have memory that others may write? */
bool shared_forked(void);
/* Call in the child, before its recording begins. */
void shared_in_child(void);
