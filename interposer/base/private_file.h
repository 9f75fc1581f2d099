/* Files and directories of a recording: their owner's alone, whatever the program's umask says. */
#ifndef RDB_PRIVATE_FILE_H
#define RDB_PRIVATE_FILE_H
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/descriptors.h"

/* openat(2) of a file that is made.  A descriptor or -errno. */
static inline int private_create(int dirfd, const char *path, int flags)
{
	int fd = descriptor_open(dirfd, path, flags | O_CREAT, 0600);
	if (fd < 0)
		return fd;
	if (fchmod(fd, 0600)) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* What was written to `temp` as fd, with this outcome, gets its name if it is whole; else it is removed.
 * 0 or -errno. */
static inline int private_publish(int fd, int rc, const char *temp, const char *path)
{
	if (fd < 0)
		return fd;
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(temp, path))
		rc = -errno;
	if (rc)
		unlink(temp);
	return rc;
}

/* 0 or -errno; one that is there already is as good. */
static inline int private_mkdir(const char *path)
{
	if (mkdir(path, 0700))
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, 0700) ? -errno : 0;
}

#endif
