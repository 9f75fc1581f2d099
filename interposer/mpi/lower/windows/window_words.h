/* One part of a window: the program's memory, the public copy, and the base (their contents at the last comparison). */
#pragma once
#include "lower/windows/windows.h"

/* Copies the program's stores to the public copy; say: reports them with host->sent(). */
void window_part_publish(struct window_part *part, bool say);
/* Copies data that others have put to the program's memory; returns whether there was any. */
bool window_part_take(struct window_part *part);
/* Whether there are stores to publish, or data to take. */
bool window_part_stored(struct window_part *part);
bool window_part_arrived(struct window_part *part);
