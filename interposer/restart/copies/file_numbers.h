/* Device and inode numbers of files that are open at the cut, by which programs tell whether a name still leads to a
 * file that they have open (SQLite, tail -F).  A copy, or a file on another machine, has others. */
#pragma once
#include <stdint.h>
#include <sys/stat.h>

/* The file that FD has open now is the one that the program knows by these numbers. */
void file_numbers_add(int fd, uint64_t dev, uint64_t ino);
/* Replaces the kernel's numbers by those that the program knows. */
void file_numbers_known(uint64_t *dev, uint64_t *ino);
/* The same in what stat(2) or statx(2) has answered. */
void file_numbers_out(uint64_t nr, const uint64_t args[6], int64_t result);
