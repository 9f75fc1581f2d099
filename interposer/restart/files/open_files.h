/* The program's descriptors, followed by its calls while a replay leads to a cut, and made again there. */
#pragma once
#include "crossing/event.h"

/* A system call that succeeded in the recording.  Writes to files go to copies of the branch's own. */
void open_files_syscall(const struct event *ev);
/* Closes what the replay had open, and makes the program's descriptors; refuses what cannot be made. */
void open_files_restore(void);
/* struct rdb_host, descriptor. */
void open_files_library(uint32_t key, int number, int fd);
/* Writes down the descriptors, for restarts of the branch. */
void open_files_save(void);
/* Loads what a branch began with.  False: it is no branch. */
bool open_files_load(void);
/* The descriptors are those of a checkpoint without a log, to be read from fd. */
void open_files_from(int fd);
