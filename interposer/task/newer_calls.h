/* Numbers of system calls that the headers of older systems do not have. */
#ifndef RDB_NEWER_CALLS_H
#define RDB_NEWER_CALLS_H
#include <sys/syscall.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#endif
