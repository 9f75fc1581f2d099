/* Ordinary files that one process of the rank has mapped while another writes to them.
 *
 * A private mapping, and one through a descriptor that cannot write, show what other processes write.  Few files are
 * written while they are mapped, so such a mapping is not compared at each event from the start (followed.h).  A table
 * in the rank's directory says which files processes have mapped, and how often each was opened for writing.
 *
 * Whoever opens a mapped file for writing asks the processes that only show it, its readers, and waits until each has
 * seen that (task/file_readers.h): from its next event on it follows the file, and until then none of its threads is in
 * upper code.  Whoever writes to a mapped file takes turns with those that follow it (floors.h).  So nobody sees a write
 * between two events.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* The numbers of a file are those of fstat(2). */

/* It is mapped here.  Its reader, from now on, until rank_files_saw(). */
void rank_file_mapped(uint64_t dev, uint64_t ino);
/* It is mapped here, and compared at events from the start: this process is no reader. */
void rank_file_followed(uint64_t dev, uint64_t ino);
bool rank_file_is_mapped(uint64_t dev, uint64_t ino);
/* How often has it been opened for writing?  0 if only this process has, and nobody else can have got the descriptor. */
uint32_t rank_file_openings(uint64_t dev, uint64_t ino);

/* This process has opened it for writing.  Asks the other readers, and calls `tell` for each; false: there are none. */
bool rank_file_opened(uint64_t dev, uint64_t ino, void (*tell)(uint32_t pid));
/* Have all readers that were asked seen it, or ended? */
bool rank_file_seen(uint64_t dev, uint64_t ino);
/* Was this process asked? */
bool rank_files_asked(void);
/* It has seen all that it was asked.  `shows`: does it go on as a reader of the file with that key (floor_key())?
 * NULL: of all. */
void rank_files_saw(bool (*shows)(uint64_t key));

/* They grow with each opening of a mapped file, and with each file that is mapped for the first time. */
uint32_t rank_files_openings(void);
uint32_t rank_files_mappings(void);

/* Before a fork: from here on others have what this process has opened. */
void rank_files_before_fork(void);
/* In a child after fork: it is no reader yet.  The process ends, or becomes another program. */
void rank_files_forked(void);
void rank_files_leave(void);
