/* Files that the program may have locked.  A process that closes any descriptor of a file gives up all its locks of
 * fcntl(2) on it (F_SETLK), so we open such a file in a process that shares only our memory. */
#pragma once

/* The program has, or may have, such locks. */
void apart_needed(void);
/* What `work` returns: 0 or more, or -errno.  It must leave no descriptor open. */
long apart(long (*work)(void *), void *arg);
