#include "restart/branch_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "restart/live.h"
#include "base/descriptors.h"
#include "base/private_file.h"

size_t branch_file_load(const char *name, void *into, size_t room, size_t one)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.restart, name);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	ssize_t len = read(fd, into, room);
	close(fd);
	if (len < 0 || (size_t)len % one)
		live_refuse("%s is damaged", path);
	return (size_t)len;
}

void branch_file_save(const char *name, const void *bytes, size_t len)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.branch, name);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	close(fd);
}

FILE *branch_file_begin(const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.branch, name);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	return f;
}

void branch_file_end(FILE *f, const char *name)
{
	const bool bad = ferror(f);
	if (fclose(f) || bad)
		live_refuse("%s/%s: it cannot be written", lower.opt.branch, name);
}
