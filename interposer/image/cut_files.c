#include "image/cut_files.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "image/checkpoints.h"
#include "memory/arena.h"
#include "memory/shared_memory.h"

#define A(i) (ev->args[i])

/* False: it cuts none. */
static bool file_cut(const struct event *ev, struct stat *st)
{
	switch (ev->nr) {
	case SYS_ftruncate: return fstat((int)A(0), st) == 0;
	case SYS_truncate:
	case SYS_creat: return stat((const char *)A(0), st) == 0;
	case SYS_open: return A(1) & O_TRUNC && stat((const char *)A(0), st) == 0;
	case SYS_openat: return A(2) & O_TRUNC && fstatat((int)A(0), (const char *)A(1), st, 0) == 0;
	case SYS_openat2: /* whatever its flags */ return fstatat((int)A(0), (const char *)A(1), st, 0) == 0;
	default: return false;
	}
}

static void is_mapped(const struct file_mapping *f, void *arg)
{
	(void)f;
	*(bool *)arg = true;
}

void cut_files_before(const struct event *ev)
{
	struct stat st;
	if (!checkpoint_under_way() || !file_cut(ev, &st))
		return;
	bool mapped = shared_is_followed(&st);
	arena_files_of(st.st_dev, st.st_ino, is_mapped, &mapped);
	if (mapped)
		checkpoint_wait();
}
