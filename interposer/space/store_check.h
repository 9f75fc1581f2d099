/* Is a stored file what was stored?  Asked when a replay or restart maps it for the first time. */
#ifndef RDB_STORE_CHECK_H
#define RDB_STORE_CHECK_H

/* 0, -errno, or -EBADMSG after that was said; in the middle of a replay it does not return then. */
int store_check(int fd, const char *key);

#endif
