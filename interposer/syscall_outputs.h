/* Which bytes of upper memory a system call has written, where a row of syscalls.def cannot say it. */
#ifndef RDB_SYSCALL_OUTPUTS_H
#define RDB_SYSCALL_OUTPUTS_H
#include "event.h"

/* event_out(), unless there is nothing. */
void out_if(struct event *ev, uint64_t addr, size_t len);

void out_readv(struct event *ev);
void out_recvfrom(struct event *ev);
void out_recvmsg(struct event *ev);
void out_select(struct event *ev);
void out_mincore(struct event *ev);
void out_gettimeofday(struct event *ev);
void out_wait4(struct event *ev);
void out_waitid(struct event *ev);
void out_getres(struct event *ev);
void out_capget(struct event *ev);
void out_getcpu(struct event *ev);
void out_mempolicy(struct event *ev);
void out_copy_range(struct event *ev);
void out_fcntl(struct event *ev);
void out_ioctl(struct event *ev);
void out_prctl(struct event *ev);

#endif
