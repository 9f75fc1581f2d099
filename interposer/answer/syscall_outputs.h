/* The bytes of upper memory that a system call has written, where a row of syscalls.def cannot express it. */
#pragma once
#include <sys/uio.h>
#include "crossing/event.h"

/* event_out(), unless addr or len is 0. */
void out_if(struct event *ev, uint64_t addr, size_t len);
/* As out_if(), but only up to the first page that is not writable: the kernel wrote less than the call's answer says. */
void out_writable(struct event *ev, uint64_t addr, size_t len);

void out_read(struct event *ev);
void out_readv(struct event *ev);
void out_recvfrom(struct event *ev);
void out_recvmsg(struct event *ev);
/* fs/select.c, core_sys_select: the kernel reads and writes the bits of the descriptors that its table has room for, and
 * ours make that table larger than the program's sets may be.  So many bits of n are passed on. */
int select_descriptors(int n);
void out_select(struct event *ev);
void out_mincore(struct event *ev);
void out_gettimeofday(struct event *ev);
void out_wait4(struct event *ev);
void out_waitid(struct event *ev);
void out_timer_create(struct event *ev);
void out_sigtimedwait(struct event *ev);
void out_getres(struct event *ev);
void out_capget(struct event *ev);
void out_capset(struct event *ev);
void out_robust_list(struct event *ev);
void out_sched_setattr(struct event *ev);
void out_getcpu(struct event *ev);
void out_mempolicy(struct event *ev);
void out_copy_range(struct event *ev);
void out_fcntl(struct event *ev);
void out_ioctl(struct event *ev);
void out_prctl(struct event *ev);
void out_vmsplice(struct event *ev);
void out_vm_write(struct event *ev);
void out_vm_read(struct event *ev);
void out_syslog(struct event *ev);
void out_sysfs(struct event *ev);
void out_statmount(struct event *ev);
void out_shmctl(struct event *ev);
void out_semctl(struct event *ev);
void out_recvmmsg(struct event *ev);
void out_quotactl(struct event *ev);
void out_ppoll(struct event *ev);
void out_poll(struct event *ev);
void out_msgrcv(struct event *ev);
void out_msgctl(struct event *ev);
void out_mq_receive(struct event *ev);
void out_keyctl(struct event *ev);
void out_handle(struct event *ev);
void out_getxattrat(struct event *ev);
void out_getgroups(struct event *ev);
void out_socketpair(struct event *ev);
void out_setsockopt(struct event *ev);
void out_getsockopt(struct event *ev);
void out_accept(struct event *ev);
void out_name(struct event *ev);
