/* Removes what is noted about the time after a checkpoint (answer/undo.h), of this rank. */
#ifndef RDB_UNDO_DROP_H
#define RDB_UNDO_DROP_H
#include <stdint.h>

void undo_drop(uint64_t checkpoint);

#endif
