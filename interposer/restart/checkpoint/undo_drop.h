/* Removes what is noted about the time after a checkpoint (answer/undo.h), of this rank. */
#pragma once
#include <stdint.h>

void undo_drop(uint64_t checkpoint);
