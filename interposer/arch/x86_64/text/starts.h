/* Finds where instructions begin in bytes without further information. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Is this probably the first byte of an instruction?  Looks at decodings that start up to `chains` bytes before it. */
bool text_starts_within(const uint8_t *begin, const uint8_t *candidate, const uint8_t *end, unsigned chains);
/* Likewise, with decodings from many places before it. */
bool text_starts_here(const uint8_t *begin, const uint8_t *candidate, const uint8_t *end);
