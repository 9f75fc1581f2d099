#include "restart/copies/given_files.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/copies/own_table.h"
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "base/private_file.h"

static int put = -1; /* descriptor of the list of files that this rank has put, not yet published */

static void name(char *out, size_t size, const char *what, int rank)
{
	char folder[LONGEST];
	snprintf(folder, sizeof(folder), "%s", lower.opt.branch);
	char *slash = strrchr(folder, '/'); /* the rank's part */
	if (slash)
		*slash = 0;
	snprintf(out, size, rank < 0 ? "%s/%s" : "%s/%s-%d", folder, what, rank);
}

bool given_here(void)
{
	char path[LONGEST + 64];
	name(path, sizeof(path), "later-ranks", -1);
	return tree() || access(path, F_OK) == 0;
}

static void begin(void)
{
	char path[LONGEST + 64];
	if (put >= 0)
		return;
	name(path, sizeof(path), ".later-given", lower.opt.rank);
	put = private_create(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (put < 0)
		live_refuse("%s: %s", path, strerror(-put));
}

void given_put(const char *path)
{
	if (tree() || !given_here())
		return;
	begin();
	if (dprintf(put, "%s\n", path) < 0)
		live_refuse("the name %s cannot be passed to other ranks: %s", path, strerror(errno));
}

/* Reads what that rank has put, once it has published its list. */
static void hear(int rank, uint64_t until_ms)
{
	char path[LONGEST + 64], line[LONGEST];
	name(path, sizeof(path), "later-given", rank);
	FILE *lines = rank_file_await(path, rank, until_ms);
	while (fgets(line, sizeof(line), lines)) {
		line[strcspn(line, "\n")] = 0;
		struct own *o = own_find(line);
		if (o)
			o->put = true;
	}
	fclose(lines);
}

void given_meet(void)
{
	char path[LONGEST + 64], named[LONGEST + 64], line[32];
	const uint64_t until_ms = monotonic_ns() / 1000000u + COME_MS;
	int rank;
	name(path, sizeof(path), "later-ranks", -1);
	const int fd = tree() ? -1 : descriptor_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	FILE *ranks = fd < 0 ? NULL : fdopen(fd, "r");
	if (!ranks)
		return;
	begin();
	name(path, sizeof(path), ".later-given", lower.opt.rank);
	name(named, sizeof(named), "later-given", lower.opt.rank);
	const int rc = private_publish(put, 0, path, named);
	if (rc)
		live_refuse("%s: %s", named, strerror(-rc));
	while (fgets(line, sizeof(line), ranks))
		if (sscanf(line, "%d", &rank) == 1)
			hear(rank, until_ms);
	fclose(ranks);
	for (struct own *o = own_table.file; o < own_table.file + own_table.n; o++)
		if (o->path && o->given && !o->put)
			own_leave(o);
}
