#include "answer/own_proc.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/lower.h"

const char *own_proc_below(const char *path)
{
	char own[32];
	const char *const starts[] = {"/proc/self/", "/proc/thread-self/", own};
	if (!path || strncmp(path, "/proc/", 6))
		return NULL;
	snprintf(own, sizeof(own), "/proc/%d/", lower.pid);
	for (unsigned i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(path, starts[i], strlen(starts[i])))
			return path + strlen(starts[i]);
	return NULL;
}

static bool shows_us(const char *base)
{
	static const char *const names[] = {"maps", "cmdline", "environ", "auxv", "status", "stat", "statm", "exe"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(base, names[i]))
			return true;
	return false;
}

/* The folder in which a path ends, without links, and a slash. */
static bool folder_of(int dir, const char *path, char folder[PATH_MAX])
{
	char link[32];
	const size_t n = (size_t)(strrchr(path, '/') ? strrchr(path, '/') + 1 - path : 0);
	if (n >= PATH_MAX)
		return false;
	memcpy(folder, n ? path : ".", n ? n : 1);
	folder[n ? n : 1] = 0;
	const int fd = descriptor_open(dir, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t len = readlink(link, folder, PATH_MAX - 2);
	close(fd);
	if (len <= 0)
		return false;
	memcpy(folder + len, "/", 2);
	return true;
}

bool own_proc_file(int dir, const char *path, char name[OWN_PROC_NAME], int *tid)
{
	char folder[PATH_MAX], end;
	const char *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;
	if (!base || !shows_us(base) || (*path == '/' && strncmp(path, "/proc/", 6)))
		return false;
	snprintf(name, OWN_PROC_NAME, "%s", base);
	*tid = strncmp(path, "/proc/thread-self/", 18) ? 0 : -1;
	if (own_proc_below(path) == base)
		return true;
	*tid = 0;
	if (!folder_of(dir, path, folder))
		return false;
	const char *below = own_proc_below(folder);
	return below && (!*below || (sscanf(below, "task/%d%c", tid, &end) == 2 && end == '/' &&
				     below[strcspn(below + 5, "/") + 6] == 0));
}
