/* A file that is cut takes its pages from whoever maps it, with what was stored there privately (truncate(2)): also from
 * the child that writes an image.  So the image has them first.
 * Cuts by other processes, other ranks and MPI_File_set_size are not seen before they are made. */
#ifndef RDB_CUT_FILES_H
#define RDB_CUT_FILES_H
#include "crossing/event.h"

/* The call is about to be made; its strings can be read. */
void cut_files_before(const struct event *ev);

#endif
