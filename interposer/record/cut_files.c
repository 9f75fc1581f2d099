#include "record/cut_files.h"
#include <sys/stat.h>
#include "space/arena.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"

enum { FILES = 256 };
static struct {
	uint64_t dev, ino;
} mapped[FILES];
static unsigned n; /* FILES: perhaps there are more */

static void add(uint64_t dev, uint64_t ino)
{
	if (!ino || n == FILES)
		return;
	for (unsigned i = 0; i < n; i++)
		if (mapped[i].ino == ino && mapped[i].dev == dev)
			return;
	mapped[n].dev = dev;
	mapped[n++].ino = ino;
}

void cut_files_begin(void)
{
	n = 0;
	shared_files_each(add);
	for (const struct file_mapping *f = NULL; (f = arena_file_next(f, 0, UINT64_MAX));)
		add(f->dev, f->ino);
}

bool cut_files_hit(const struct event *ev)
{
	struct cut_file file;
	struct stat st;
	if (!shared_call_cuts(ev, &file))
		return false;
	if (file.path ? fstatat(file.dir, file.path, &st, 0) : fstat(file.dir, &st))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (mapped[i].ino == st.st_ino && mapped[i].dev == st.st_dev)
			return true;
	return n == FILES;
}
