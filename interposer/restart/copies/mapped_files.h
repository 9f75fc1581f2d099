/* Files that the program has mapped shared, while a replay leads to a cut: which of the branch's copies each is.  What
 * the program stores there is in its memory, and gets into the copy at the cut (shared_again.h), or where it is
 * unmapped. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "restart/base/open_table.h"

struct mapped_file {
	uint64_t start, end, offset;
	int copy;
	bool born;       /* a branch began with it */
	char why[120];   /* not empty: why the rest of the file is not known */
	char path[4096]; /* empty: it has no name any more */
};

/* mmap(2) of that file has been answered.  mapped_files_asked(): a call is about to be, which may unmap it. */
void mapped_file_made(uint64_t start, uint64_t len, uint64_t offset, struct opened *f);
void mapped_files_asked(uint32_t nr, const uint64_t args[6]);
void mapped_files_renamed(const char *from, const char *to);
void mapped_files_unlinked(const char *path);
/* The copy of a file that is mapped, for one that is opened again.  -1: none. */
int mapped_file_copy(const char *path);

/* Passes the list on to a child, or the next program, which has no mappings.  False: errno says why. */
bool mapped_files_hand_on(int fd);
bool mapped_files_inherit(int fd);
/* Keeps the descriptors open over execve(2). */
void mapped_files_keep(void);
void mapped_files_gone(void);

/* At the cut: the mapping at that address.  NULL: nothing is known of it. */
const struct mapped_file *mapped_file_at(uint64_t start);
/* For all processes, once all have what they share: makes names that lead to these copies. */
bool mapped_files_any(void);
void mapped_file_name(const struct mapped_file *m);
void mapped_files_named(void);
/* What a branch began with. */
void mapped_files_save(void);
void mapped_files_load(void);
/* Closes the copies, when all is mapped again. */
void mapped_files_close(void);
