/* What a stored file holds, in a few bytes: its length and its CRC-32C, taken in pieces of FILE_SUM_PIECE.  Part of
 * librdblog.so, too. */
#ifndef RDB_FILE_SUM_H
#define RDB_FILE_SUM_H
#include <stdbool.h>
#include <stdint.h>
#include "log/log_index.h"

enum { FILE_SUM_PIECE = 64 << 10 };

struct file_sum {
	uint64_t size;
	uint32_t crc;
};

/* 0 or -errno. */
int file_sum(int fd, struct file_sum *sum);
/* The end of a stored file's key, which says what the file held when it was stored: "-sSIZE.CRC".  False: it has none
 * (older recordings). */
bool file_sum_of_key(const char *key, struct file_sum *sum);
/* 1: the file at that path is what its key says, 0: it is not (`found` is what it is), 2: nobody can tell, or -errno. */
LOG_API int file_sum_check(const char *path, struct file_sum *expected, struct file_sum *found);

#endif
