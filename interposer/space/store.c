#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/lower.h"
#include "log/file_sum.h"
#include "base/copy_bytes.h"
#include "base/private_file.h"
#include "space/store.h"
#include "space/store_check.h"

/* The end of the key (size and checksum) of a file that is stored already, remembered under the start of its key. */
static void sums_name(char *out, size_t size, const char *key, bool folder)
{
	snprintf(out, size, folder ? "%s-sums" : "%s-sums/%s", lower.opt.files_dir, key);
}

static bool stored_before(const char *key, char *end, size_t size)
{
	char name[4352];
	sums_name(name, sizeof(name), key, false);
	const int fd = descriptor_open(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	const ssize_t n = fd < 0 ? 0 : read(fd, end, size - 1);
	end[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
	return n > 0;
}

/* Only an optimisation for the next time: it may fail, and a partial file names no stored file. */
static void remember(const char *key, const char *end)
{
	char name[4352], folder[4352];
	sums_name(name, sizeof(name), key, false);
	sums_name(folder, sizeof(folder), "", true);
	int fd = private_create(AT_FDCWD, name, O_WRONLY | O_EXCL | O_CLOEXEC);
	if (fd == -ENOENT && !private_mkdir(folder))
		fd = private_create(AT_FDCWD, name, O_WRONLY | O_EXCL | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, end, strlen(end)) != (ssize_t)strlen(end))
		unlink(name);
	close(fd);
}

static int full_name(char *out, size_t size, const char *key)
{
	const int n = snprintf(out, size, "%s/%s", lower.opt.files_dir, key);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* The checksum is that of the copy, whatever happens to the file meanwhile. */
static int copy_summed(int fd, int out, uint64_t size, char *end, size_t room)
{
	struct file_sum sum;
	const int64_t copied = copy_bytes(fd, out, size);
	const int rc = copied < 0 ? (int)copied : file_sum(out, &sum);
	if (!rc)
		snprintf(end, room, "-s%lx.%08x", (unsigned long)sum.size, sum.crc);
	return rc;
}

int store_add(int fd, const char *path, bool changing, char *key)
{
	struct stat st;
	char final[4096], temp[4160], end[32];
	const char *slash = strrchr(path, '/');
	if (fstat(fd, &st))
		return -errno;
	size_t n = (size_t)snprintf(key, STORE_KEY, "%.48s-%x.%x-%lx-%lx.%lx-%lx", slash ? slash + 1 : path,
				    major(st.st_dev), minor(st.st_dev), (unsigned long)st.st_ino,
				    (unsigned long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec,
				    (unsigned long)st.st_size);
	if (changing) { /* time and size do not tell its versions apart */
		static unsigned copies;
		/* pids are unique among the processes of one rank, not among hosts */
		n += (size_t)snprintf(key + n, STORE_KEY - n, "-%d.%d.%u", lower.opt.rank, lower.pid, ++copies);
	}
	if (n + sizeof(end) > STORE_KEY)
		return -ENAMETOOLONG; /* cannot happen with real inode numbers and times */
	if (!changing && stored_before(key, end, sizeof(end))) {
		strcpy(key + n, end);
		int rc = full_name(final, sizeof(final), key);
		if (rc || access(final, F_OK) == 0)
			return rc;
		key[n] = 0;
	}
	snprintf(temp, sizeof(temp), "%s/%s.%d.%d", lower.opt.files_dir, key, lower.opt.rank, lower.pid);
	int out = private_create(AT_FDCWD, temp, O_RDWR | O_EXCL);
	int rc = out < 0 ? out : copy_summed(fd, out, (uint64_t)st.st_size, end, sizeof(end));
	if (!rc) {
		if (!changing)
			remember(key, end);
		strcpy(key + n, end);
		rc = full_name(final, sizeof(final), key);
	}
	return private_publish(out, rc, temp, final);
}

int store_open(const char *key)
{
	char path[4096];
	int rc = full_name(path, sizeof(path), key);
	int fd = rc ? rc : descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	rc = store_check(fd, key);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}
