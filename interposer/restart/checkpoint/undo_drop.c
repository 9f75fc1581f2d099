#include "restart/checkpoint/undo_drop.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/lower.h"
#include "space/kept_budget.h"

/* Gives back what it took of --kept-budget. */
static void give_back(const char *path)
{
	struct stat st;
	int64_t kept;
	if (!lstat(path, &st))
		kept_budget(-(int64_t)st.st_size, &kept);
}

void undo_drop(uint64_t checkpoint)
{
	char dir[4096], path[4096 + 260];
	snprintf(dir, sizeof(dir), "%s/undo-%lu", lower.opt.dir, (unsigned long)checkpoint);
	DIR *list = opendir(dir);
	for (const struct dirent *e; list && (e = readdir(list));) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (!strncmp(e->d_name, "before-", 7))
			give_back(path);
		unlink(path);
	}
	if (list)
		closedir(list);
	rmdir(dir);
	snprintf(path, sizeof(path), "%s/unnoted-%lu", lower.opt.dir, (unsigned long)checkpoint);
	unlink(path);
}
