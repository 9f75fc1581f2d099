/* Moves memory that is forked again and again to where a fork costs nothing.
 *
 * fork() copies one page table entry for each page of anonymous memory: 20 to 80 ms a gigabyte.  Of a private mapping
 * of a file it copies nothing as long as nobody has written there (kernel, mm/memory.c, vma_needs_copy).  So a replica
 * that is to be a snapshot writes its large memory to an unnamed file (memfd_create(2)) and maps that in its place.
 */
#pragma once

/* Bytes moved, or -errno; what is there reads as before in any case. */
long settle(void);
