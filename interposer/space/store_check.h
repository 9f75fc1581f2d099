/* Checks that a stored file is what was stored, when a replay or restart first maps it. */
#ifndef RDB_STORE_CHECK_H
#define RDB_STORE_CHECK_H

/* 0, -errno, or -EBADMSG (said); in the middle of a replay it does not return then. */
int store_check(int fd, const char *key);

#endif
