/* The program's descriptors, by what it did to them: kept while a replay leads to a cut, made again there. */
#ifndef RDB_OPEN_FILES_H
#define RDB_OPEN_FILES_H
#include "crossing/event.h"

/* A system call that succeeded in the recording.  Writes to files go to copies of the branch's own. */
void open_files_syscall(const struct event *ev);
/* Closes what the replay had open, and makes the program's descriptors; refuses what cannot be made. */
void open_files_restore(void);
/* struct rdb_host, descriptor. */
void open_files_library(uint32_t key, int number, int fd);
/* Writes down what there is, for restarts of the branch. */
void open_files_save(void);
/* They are those of a checkpoint without a log, read from here on. */
void open_files_from(int fd);
/* Which files the recorded job wrote to only later: the branch has copies of them, too. */
void later_files_load(void);

#endif
