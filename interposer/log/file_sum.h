/* Sums of the files of a recording: length and CRC-32C, taken in pieces of FILE_SUM_PIECE.  A stored file has its sum
 * in its name.  Other files have it in a line of the file `sums` beside them, which is only appended to: of two lines
 * the later one counts.  Each line of `sums`, and each line of `cautions`, ends in its own CRC-32C.  Part of
 * librdblog.so, too. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "log/log_index.h"

#define FILE_SUMS "sums"

enum { FILE_SUM_PIECE = 64 << 10, CHECKED_LINE_END = sizeof(" ~12345678\n") };

struct file_sum {
	uint64_t size;
	uint32_t crc;
};

/* 0 or -errno. */
int file_sum(int fd, struct file_sum *sum);
/* Ends a line of `len` bytes with its CRC and a newline; needs room for CHECKED_LINE_END more. Returns the new
 * length. */
size_t checked_line(char *line, size_t len);
/* Writes the line of `sums` for that file.  Returns its length, or -errno. */
int file_sum_line(const char *path, char *line, size_t room);
/* The end of a stored file's key, which says what the file held when it was stored: "-sSIZE.CRC".  False: it has none
 * (older recordings). */
bool file_sum_of_key(const char *key, struct file_sum *sum);
/* 1: the file at that path is what its name or `sums` says, 0: it is not (`found` is what it is), 2: no sum is known,
 * or -errno. */
LOG_API int file_sum_check(const char *path, struct file_sum *expected, struct file_sum *found);
