/* One part of a window: the program's memory, the public copy, and what both
 * held when they were last compared. */
#ifndef RDB_MPI_WINDOW_WORDS_H
#define RDB_MPI_WINDOW_WORDS_H
#include "windows.h"

/* What the program has stored goes out; what others have put comes in: was
 * there anything? */
void window_part_publish(struct window_part *part, bool say);
bool window_part_take(struct window_part *part);
/* Is there anything to go out, or to come in? */
bool window_part_stored(struct window_part *part);
bool window_part_arrived(struct window_part *part);

#endif
