/* Truncating a file takes its pages from all that map it, together with private changes (truncate(2)): also from the
 * child that writes an image, which maps what the program had mapped at the fork.  So the program waits for the image
 * first.  Truncations by other processes, other ranks and MPI_File_set_size are not seen before they are made. */
#pragma once
#include "crossing/event.h"

/* The child is about to be forked. */
void cut_files_begin(void);
/* The call is about to be made; its strings can be read.  Does it truncate a file that the child maps? */
bool cut_files_hit(const struct event *ev);
