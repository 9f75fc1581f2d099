#include "record/cut_files.h"
#include <sys/stat.h>
#include "record/checkpoints.h"
#include "space/arena.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"

static void is_mapped(const struct file_mapping *f, void *arg)
{
	(void)f;
	*(bool *)arg = true;
}

void cut_files_before(const struct event *ev)
{
	struct cut_file file;
	struct stat st;
	if (!checkpoint_under_way() || !shared_call_cuts(ev, &file))
		return;
	if (file.path ? fstatat(file.dir, file.path, &st, 0) : fstat(file.dir, &st))
		return;
	bool mapped = shared_is_followed(&st);
	arena_files_of(st.st_dev, st.st_ino, is_mapped, &mapped);
	if (mapped)
		checkpoint_wait();
}
