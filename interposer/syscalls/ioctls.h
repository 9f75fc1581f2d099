/* ioctl: which requests put what where, and which are refused. */
#ifndef RDB_IOCTLS_H
#define RDB_IOCTLS_H

/* Requests of devices whose answers (or whose memory) cannot be logged fail as if the device did not know
 * them: -errno, or 0: the kernel may be asked. */
int ioctl_refused(unsigned req);

#endif
