#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "boundary/lower.h"
#include "process/copy_bytes.h"
#include "process/private_file.h"
#include "process/store.h"

int store_add(int fd, const char *path, bool changing, char *key)
{
	struct stat st;
	char final[4096], temp[4160];
	const char *slash = strrchr(path, '/');
	if (fstat(fd, &st))
		return -errno;
	snprintf(key, 160, "%.60s-%x.%x-%lx-%lx.%lx-%lx", slash ? slash + 1 : path, major(st.st_dev), minor(st.st_dev),
		 (unsigned long)st.st_ino, (unsigned long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec,
		 (unsigned long)st.st_size);
	if (changing) { /* neither time nor size need tell two contents of it apart */
		static unsigned copies;
		size_t n = strlen(key);
		/* processes of two hosts may have the same number, those of one rank have not */
		snprintf(key + n, 160 - n, "-%d.%d.%u", lower.opt.rank, lower.pid, ++copies);
	}
	if ((size_t)snprintf(final, sizeof(final), "%s/%s", lower.opt.files_dir, key) >= sizeof(final))
		return -ENAMETOOLONG;
	if (access(final, F_OK) == 0)
		return 0;
	snprintf(temp, sizeof(temp), "%s.%d.%d", final, lower.opt.rank, lower.pid);
	int out = private_create(AT_FDCWD, temp, O_WRONLY | O_EXCL);
	int64_t copied = out < 0 ? out : copy_bytes(fd, out, (uint64_t)st.st_size);
	return private_publish(out, copied < 0 ? (int)copied : 0, temp, final);
}

int store_open(const char *key)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", lower.opt.files_dir, key) >= sizeof(path))
		return -ENAMETOOLONG;
	return descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
}
