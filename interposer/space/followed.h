/* Files that the program maps and writes: a mapping shows what is written, also a private one where nothing was stored. */
#ifndef RDB_FOLLOWED_H
#define RDB_FOLLOWED_H
#include "log/parts.h"
#include "space/arena.h"

struct stat;
/* Has MPI opened this file for writing?  Then it may write to what is mapped, at any time. */
bool followed_mpi_writes(const struct stat *st);
/* While recording: must a mapping of this file be one of shared_memory.h from the start?  Others are when the file is
 * written, for most never are. */
bool followed_from_start(int fd, bool shared, int prot);
/* Programs and libraries are replaced, not written, while they are mapped: of these the copy is what stays. */
bool followed_never(int fd);
/* While recording: mremap(2) of a file that is mapped, which shows the file at its new place as well, and with KEEP at the
 * old one again (MREMAP_DONTUNMAP).  -ENOENT: it cannot
 * be found. */
long followed_move(struct event *ev, const struct file_mapping *f, uint64_t old, size_t old_len, uint64_t at,
		   size_t new_len, int prot, bool keep);
/* The event is about to end: mappings of the file that it has written follow that from here on; and what it has written
 * to memory through /proc is logged. */
void followed_written(struct event *ev);
/* The program maps this file shared, and may store there. */
void followed_mapped(struct event *ev, int fd);

#endif
