/* Files and directories of a recording are only for their owner, whatever the program's umask is. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a new file private. fd may be -errno. The descriptor or -errno; then it is closed. */
static inline int private_mode(int fd)
{
	if (fd < 0 || !fchmod(fd, 0600))
		return fd;
	int rc = -errno;
	close(fd);
	return rc;
}

/* openat(2) with O_CREAT, made private. A descriptor or -errno. */
static inline int private_open(int dirfd, const char *path, int flags)
{
	int fd = openat(dirfd, path, flags | O_CREAT | O_CLOEXEC, 0600);
	return private_mode(fd < 0 ? -errno : fd);
}

/* Closes fd, the file `temp`. If rc is 0 and close succeeds, renames it to `path`; else removes it. 0 or -errno. */
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

/* Fails if it exists. 0 or -errno. */
static inline int private_mkdir_new(const char *path)
{
	return mkdir(path, 0700) || chmod(path, 0700) ? -errno : 0;
}

/* As private_mkdir_new(), but success if it exists already. */
static inline int private_mkdir(const char *path)
{
	int rc = private_mkdir_new(path);
	return rc == -EEXIST ? 0 : rc;
}
