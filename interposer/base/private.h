/* Files and directories of a recording: their owner's alone, whatever the program's umask says. */
#ifndef RDB_PRIVATE_H
#define RDB_PRIVATE_H
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a file that has just been made: its descriptor or -errno, as FD is. */
static inline int private_mode(int fd)
{
	if (fd < 0 || !fchmod(fd, 0600))
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

/* openat(2) of a file that is made.  A descriptor or -errno. */
static inline int private_open(int dirfd, const char *path, int flags)
{
	int fd = openat(dirfd, path, flags | O_CREAT | O_CLOEXEC, 0600);
	return private_mode(fd < 0 ? -errno : fd);
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

/* 0 or -errno. */
static inline int private_mkdir_new(const char *path)
{
	return mkdir(path, 0700) || chmod(path, 0700) ? -errno : 0;
}

/* 0 or -errno; one that is there already is as good. */
static inline int private_mkdir(const char *path)
{
	int rc = private_mkdir_new(path);
	return rc == -EEXIST ? 0 : rc;
}

#endif
