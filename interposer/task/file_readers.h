/* The processes of the rank that have a file mapped which another process opens for writing (space/rank_files.h).
 *
 * A reader that computes is stopped where it is, as for a signal, and follows the file from that event on.  One that waits
 * in the kernel will do so at its next event, before it is in upper code again. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

/* This process has opened the file for writing: returns when no reader can be in upper code that does not follow it. */
void file_readers_stop(const struct stat *st);
