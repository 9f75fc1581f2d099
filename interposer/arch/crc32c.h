/* CRC-32C by instructions of the processor (base/crc32c.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "arch/x86_64/base/crc32c.h"
#include "arch/x86_64/base/crc32c_wide.h"

/* The state of the CRC after one more word, or byte. */
static inline uint64_t crc32c_word(uint64_t state, uint64_t word);
static inline uint64_t crc32c_byte(uint64_t state, uint8_t byte);
/* Is crc32c_wide_words() available, a faster way for large data (a multiple of 8 bytes)? */
static inline bool crc32c_wide_there(void);
static inline uint64_t crc32c_wide_words(uint64_t state, const uint8_t *p, size_t len);
