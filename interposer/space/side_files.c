#include "space/side_files.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/lower.h"
#include "log/file_sum.h"
#include "base/private_file.h"

void side_file_whole(const char *path)
{
	char line[4096], sums[4096];
	const char *slash = strrchr(path, '/');
	const int len = file_sum_line(path, line, sizeof(line));
	snprintf(sums, sizeof(sums), "%.*s/" FILE_SUMS, slash ? (int)(slash - path) : 1, slash ? path : ".");
	int fd = len < 0 ? len : private_create(AT_FDCWD, sums, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd >= 0 && write(fd, line, (size_t)len) != len) {
		close(fd);
		fd = -errno;
	}
	if (fd < 0)
		rdb_warn("%s: its checksum cannot be written to %s: %s; rdb will not detect damage to the file", path,
			 sums, strerror(-fd));
	else
		close(fd);
}

/* Is it a file that a branch began with, to be noted at its start?  Not `kept-N` and `mpi-file-N`, which are noted when
 * they are made, nor `was-N-K`, which belongs to a checkpoint.  Logs, images, `sums` and `cautions` have checksums of
 * their own.  The others change while the branch runs. */
static bool begun_with(const char *name)
{
	static const char *const others[] = {"log-",   "ckpt-", "payload", "kept-",   "mpi-file-", "state-",    "file-",
					     "floors", "pids",  "readers", FILE_SUMS, "cautions",  "own-here-", "."};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return strncmp(name, "was-", 4) != 0 || !isdigit((unsigned char)name[4]) || !strchr(name + 4, '-');
}

static const char *of_all(const char *dir, const char *prefix, const char *(*what)(const char *path))
{
	char path[4096];
	const char *found = NULL;
	DIR *d = opendir(dir);
	if (!d)
		return strerror(errno);
	for (const struct dirent *e; !found && (e = readdir(d));)
		if (prefix ? !strncmp(e->d_name, prefix, strlen(prefix)) : begun_with(e->d_name)) {
			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
			found = what(path);
		}
	closedir(d);
	return found;
}

static const char *noted(const char *path)
{
	struct stat st;
	if (!lstat(path, &st) && S_ISREG(st.st_mode))
		side_file_whole(path);
	return NULL;
}

void side_files_whole(const char *dir)
{
	const char *why = of_all(dir, NULL, noted);
	if (why)
		rdb_warn("%s: %s: rdb will not detect damage to the files in this directory", dir, why);
}

const char *side_file_damaged(const char *path)
{
	static char why[4400];
	struct file_sum expected, found;
	struct stat st;
	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return NULL;
	const int rc = file_sum_check(path, &expected, &found);
	if (rc < 0)
		snprintf(why, sizeof(why), "%s: %s", path, strerror(-rc));
	else if (rc == 2)
		rdb_warn("%s: " FILE_SUMS " beside it has no checksum of this file, so rdb cannot check it for damage",
			 path);
	else if (!rc)
		snprintf(why, sizeof(why),
			 "%s is damaged: expected %lu bytes, CRC-32C %08x, found %lu bytes, %08x; put it back from a "
			 "copy or a pack of the job",
			 path, (unsigned long)expected.size, expected.crc, (unsigned long)found.size, found.crc);
	return rc == 1 || rc == 2 ? NULL : why;
}

const char *side_files_damaged(const char *dir, const char *prefix)
{
	return of_all(dir, prefix, side_file_damaged);
}
