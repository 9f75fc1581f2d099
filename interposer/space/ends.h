/* Pages behind the end of a mapped file: access raises SIGBUS (mmap(2)).
 *
 * The kernel does that if the mapping is the file's.  If the file is copied into the store, and in a replay, such pages
 * are anonymous inaccessible memory, and we turn the fault into a SIGBUS.  A replay does not know where a file ended:
 * at each SIGBUS the recording logs the pages behind the end (LOG_ENDS), right after the event before.  An event notes
 * pages that are inside the file again.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include "log/parts.h"

/* [start, end) was mapped with that protection, and lies behind the end of the file. */
void ends_add(uint64_t start, uint64_t end, int prot);
/* Something else is mapped there. */
void ends_gone(uint64_t start, uint64_t end);
/* The program has changed the protection. */
void ends_protected(uint64_t start, uint64_t end, int prot);
/* The file itself is mapped there now: the kernel handles its end. */
void ends_of_file(uint64_t start, uint64_t end);
/* Does addr lie behind the end, as far as we know? *prot: the protection that the program knows. */
bool ends_at(uint64_t addr, int *prot);

/* The first pages in [from, to) that we have made inaccessible; false: none. */
bool ends_closed(uint64_t from, uint64_t to, uint64_t part[2], int *prot);

/* Turns a fault of the program into the signal that the program must see. While recording calls `say` with the
 * range. */
void ends_fault(int *sig, siginfo_t *info, const ucontext_t *uc, void (*say)(const uint64_t range[2]));
/* While recording: from this page on the mapping, which ends at `end`, cannot be read. */
void ends_found(uint64_t page, uint64_t end, int prot);
/* Calls `say` for what ends_found() has found since the last call. */
void ends_say(void (*say)(const uint64_t range[2]));
/* While recording: notes with the event the pages that are inside the file again. */
void ends_sync(struct event *ev);
extern unsigned ends_known; /* number of ranges */

struct log_record;
/* In a replay. */
void ends_recorded(const struct log_record *rec);
void ends_back(const uint64_t range[2]);
