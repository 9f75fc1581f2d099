#include "answer/device_paths.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "answer/path_argument.h"
#include "crossing/boundary.h"

static bool is_device(const char *path)
{
	static const char *const folders[] = {"/sys/class/infiniband_verbs", "/sys/class/infiniband",
					      "/dev/infiniband"};
	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const size_t len = strlen(folders[i]);
		if (!strncmp(path, folders[i], len) && (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

/* Does a relative path lead from that folder to a device?  Then `out` is the whole path. */
static bool leads_to_device(int dir, const char *path, char out[LONGEST])
{
	char link[32];
	snprintf(link, sizeof(link), dir == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", dir);
	while (!strncmp(path, "./", 2))
		path += 2;
	const ssize_t n = readlink(link, out, LONGEST - 1);
	if (n <= 0 || (size_t)n + 1 + strlen(path) >= LONGEST)
		return false;
	snprintf(out + n, LONGEST - (size_t)n, "%s%s", n > 1 ? "/" : "", path);
	return is_device(out);
}

void device_paths(uint64_t nr, uint64_t a[6], char room[LONGEST])
{
	struct path_argument p;
	char whole[LONGEST];
	const char *path = path_argument(nr, a, &p) ? (const char *)a[p.at] : NULL;
	if (!path || !*path || !host_has_device_files())
		return;
	if (*path != '/' && leads_to_device(p.dir < 0 ? AT_FDCWD : (int)a[p.dir], path, whole))
		path = whole;
	const char *files = is_device(path) ? host_device_files() : NULL;
	if (files && snprintf(room, LONGEST, "%s%s", files, path) < LONGEST)
		a[p.at] = (uint64_t)room;
}
