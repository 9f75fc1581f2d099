/* timer_settime(2) and timer_delete(2): drop what the timer has sent before and the program has not taken, if the
 * running kernel does so (Linux 6.14 and later). */
#pragma once
#include <stdint.h>

long timer_set_or_deleted(long nr, const uint64_t args[6]);
