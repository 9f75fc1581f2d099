#include "answer/device_paths.h"
#include <stdio.h>
#include <string.h>
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

void device_paths(uint64_t nr, uint64_t a[6], char room[LONGEST])
{
	struct path_argument p;
	const char *path = path_argument(nr, a, &p) ? (const char *)a[p.at] : NULL;
	const char *files = path && is_device(path) ? host_device_files() : NULL;
	if (files && snprintf(room, LONGEST, "%s%s", files, path) < LONGEST)
		a[p.at] = (uint64_t)room;
}
