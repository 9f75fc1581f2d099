/* What the fuzz targets share: a directory of their own, a file that is the input. */
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One input; 0.  Crashes, or stops by abort(), where something is wrong. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char target_dir[64];

static inline void target_remove(void)
{
	static const char *const names[] = {"log-000000.seg", "ckpt-000000.img"};
	char path[96];
	for (unsigned i = 0; i < 2; i++) {
		strcpy(path, target_dir);
		strcat(strcat(path, "/"), names[i]);
		unlink(path);
	}
	rmdir(target_dir);
}

static inline void target_directory(const char *dir)
{
	if (mkdir(dir, 0700))
		abort();
	strcpy(target_dir, dir);
	atexit(target_remove);
}

static inline uint8_t *target_copy(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + 1);
	if (!copy)
		abort();
	memcpy(copy, data, len);
	return copy;
}

static inline void target_write(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd))
		abort();
}
