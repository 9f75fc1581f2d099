/* Pages behind the end of a mapped file: who touches them gets SIGBUS (mmap(2)).
 *
 * The kernel does that where a mapping is the file's.  Where a file is copied into the store, and in a replay, such pages
 * are anonymous memory that may not be touched, and the fault is made a SIGBUS.  A replay does not know where a file
 * ended: at each SIGBUS the recording says from where on there was nothing (LOG_ENDS), right behind the event before, and
 * as part of an event that it is there again.
 */
#ifndef RDB_ENDS_H
#define RDB_ENDS_H
#include <signal.h>
#include <stdbool.h>
#include "log/parts.h"

/* [start, end) is mapped with that protection, and there is nothing. */
void ends_add(uint64_t start, uint64_t end, int prot);
/* It is mapped otherwise. */
void ends_gone(uint64_t start, uint64_t end);
/* It has that protection now. */
void ends_protected(uint64_t start, uint64_t end, int prot);
/* The file is mapped there itself: if it has an end there, the kernel knows. */
void ends_of_file(uint64_t start, uint64_t end);
/* Nothing is there as far as we know; *prot: what the program takes its protection for. */
bool ends_at(uint64_t addr, int *prot);

/* Of the pages that we have closed the first ones in [from, to); false: there are none. */
bool ends_closed(uint64_t from, uint64_t to, uint64_t part[2], int *prot);

/* A fault of the program: what it is for the program.  While recording it is said, by `say`. */
void ends_fault(int *sig, siginfo_t *info, const ucontext_t *uc, void (*say)(const uint64_t range[2]));
/* While recording: is any of it there again?  Said with the event. */
void ends_sync(struct event *ev);
extern unsigned ends_known; /* how many there are */

struct log_record;
/* In a replay. */
void ends_recorded(const struct log_record *rec);
void ends_back(const uint64_t range[2]);

#endif
