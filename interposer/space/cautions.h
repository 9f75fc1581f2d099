/* Cautions: reasons why a replay of this recording may differ. */
#pragma once
#include <stdint.h>

/* Appends "event N: ..." to the file `cautions` of the recording, while recording. */
void caution(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Appends "events FROM-TO: TEXT". */
void caution_events(uint64_t from, uint64_t to, const char *text);
