/* Files in a branch's directory that keep what the branch began with, for restarts of that branch. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How much longer another rank may replay than this one. */
enum { COME_MS = 3600000 };
/* Waits until another rank of the branch has published that file, and opens it.  Until then (CLOCK_MONOTONIC), else the
 * restart is refused. */
FILE *rank_file_await(const char *path, int rank, uint64_t until_ms);
/* Reads a file of the recording that is restarted: whole things of `one` byte each.  Returns the number of bytes; 0:
 * there is no such file. */
size_t branch_file_load(const char *name, void *into, size_t room, size_t one);
/* Writes a new file, at any path. */
void new_file(const char *path, const void *bytes, size_t len);
/* Writes a file of the branch. */
void branch_file_save(const char *name, const void *bytes, size_t len);
/* Writes a file of this recording, at the start of a program that is not the first of its process. */
void recording_file_save(const char *name, const void *bytes, size_t len);
/* branch_file_save(), piece by piece. */
FILE *branch_file_begin(const char *name);
void branch_file_end(FILE *f, const char *name);
