#include "restart/base/branch_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/monotonic.h"
#include "base/private_file.h"
#include "space/side_files.h"

enum { LOOK_NS = 5000000, SAY_MS = 60000, MS = 1000000 };

FILE *rank_file_await(const char *path, int rank, uint64_t until_ms)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	const uint64_t say = monotonic_ns() / MS + SAY_MS;
	bool said = false;
	int fd;
	while ((fd = descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)) == -ENOENT) {
		const uint64_t now = monotonic_ns() / MS;
		if (now > until_ms)
			live_refuse("rank %d did not reach the cut in time", rank);
		if (!said && now > say) {
			rdb_warn("rank %d waits for rank %d to reach the cut", lower.opt.rank, rank);
			said = true;
		}
		nanosleep(&pause, NULL);
	}
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		live_refuse("%s: %s", path, strerror(fd < 0 ? -fd : errno));
	return f;
}

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

void new_file(const char *path, const void *bytes, size_t len)
{
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	int rc = fd < 0 ? fd : io_write_all(fd, bytes, len, 0, 1 << 20);
	if (rc)
		live_refuse("%s: %s", path, strerror(-rc));
	close(fd);
}

void branch_file_save(const char *name, const void *bytes, size_t len)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.branch, name);
	new_file(path, bytes, len);
}

void recording_file_save(const char *name, const void *bytes, size_t len)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.dir, name);
	const int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	const int rc = fd < 0 ? fd : io_write_all(fd, bytes, len, 0, 1 << 20);
	if (fd >= 0)
		close(fd);
	if (rc)
		rdb_warn("%s: %s: a restart will lack what the program before had set", path, strerror(-rc));
	else
		side_file_whole(path);
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
	errno = 0;
	if (fclose(f) || bad)
		live_refuse("%s/%s: %s", lower.opt.branch, name, errno ? strerror(errno) : "a write has failed");
}
