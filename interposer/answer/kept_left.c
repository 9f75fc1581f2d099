#include "answer/kept_left.h"
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "base/lower.h"
#include "answer/process.h"

#define A(i) (ev->args[i])

/* A file that does not fit in these tables is kept once more than necessary. */
enum { DESCRIPTORS = 1024, LEFT = 4096 };

static struct {
	dev_t dev;
	ino_t ino; /* 0: none, or a file with writes that we do not follow */
	bool appends;
} written[DESCRIPTORS];

static struct {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
} left[LEFT];

static bool shared; /* other processes may have written through its descriptors, or a restart has no copies of closed
		     * files */

static bool alone(void)
{
	const char *last = strrchr(lower.opt.dir, '/');
	return !shared && !lower.opt.tree && last && !strncmp(last, "/rank-", 6);
}

bool kept_is_left(const struct stat *st)
{
	if (!alone())
		return false;
	for (unsigned fd = 0; fd < DESCRIPTORS; fd++)
		if (written[fd].ino == st->st_ino && written[fd].dev == st->st_dev && !written[fd].appends)
			return true;
	const unsigned i = (unsigned)(st->st_ino % LEFT);
	return left[i].ino == st->st_ino && left[i].dev == st->st_dev && left[i].size == st->st_size &&
	       !memcmp(&left[i].changed, &st->st_mtim, sizeof(st->st_mtim));
}

bool kept_appends(int fd)
{
	return fd >= 0 && (fd >= DESCRIPTORS || written[fd].appends || !written[fd].ino);
}

static void not_followed(uint64_t fd)
{
	if (fd < DESCRIPTORS)
		written[fd].ino = 0;
}

static void closes(uint64_t fd)
{
	struct stat st;
	if (fd >= DESCRIPTORS || !written[fd].ino)
		return;
	if (!written[fd].appends && fstat((int)fd, &st) == 0 && st.st_ino == written[fd].ino &&
	    st.st_dev == written[fd].dev) {
		const unsigned i = (unsigned)(st.st_ino % LEFT);
		left[i].dev = st.st_dev;
		left[i].ino = st.st_ino;
		left[i].size = st.st_size;
		left[i].changed = st.st_mtim;
	}
	written[fd].ino = 0;
	written[fd].appends = false;
}

void kept_left_before(const struct event *ev)
{
	switch (ev->nr) {
	case SYS_close: closes(A(0)); break;
	case SYS_dup2:
	case SYS_dup3:
		if (A(0) != A(1))
			closes(A(1));
		break;
	case SYS_mmap:
		if (A(3) & MAP_SHARED) {
			shared = true; /* it is restarted like processes that share memory */
			if (!(A(3) & MAP_ANONYMOUS))
				not_followed(A(4));
		}
		break;
	case SYS_shmat: shared = true; break;
	case SYS_fallocate:
	case SYS_sendfile:
	case SYS_pwritev2: not_followed(A(0)); break;
	case SYS_splice:
	case SYS_copy_file_range: not_followed(A(2)); break;
	case SYS_ioctl:
		if ((unsigned)A(1) == FICLONE || (unsigned)A(1) == FICLONERANGE)
			not_followed(A(0));
		break;
	case SYS_fork:
	case SYS_vfork:
	case SYS_clone:
	case SYS_clone3: shared |= process_forks(ev); break;
	default: break;
	}
}

void kept_left_after(const struct event *ev, const struct kept *k)
{
	struct stat st;
	const bool opened = ev->nr == SYS_open || ev->nr == SYS_openat || ev->nr == SYS_creat;
	const unsigned flags = ev->nr == SYS_open     ? (unsigned)A(1)
			       : ev->nr == SYS_openat ? (unsigned)A(2)
						      : O_WRONLY | O_TRUNC;
	if (!opened || ev->result >= DESCRIPTORS)
		return;
	const uint64_t fd = (uint64_t)ev->result;
	written[fd].ino = 0;
	written[fd].appends = false;
	if ((flags & O_ACCMODE) == O_RDONLY || fstat((int)fd, &st) || !S_ISREG(st.st_mode))
		return;
	const bool begins = k->any && (flags & O_TRUNC || k->note.head.was != RDB_WAS_LOST);
	written[fd].dev = st.st_dev;
	written[fd].ino = begins || flags & O_APPEND ? st.st_ino : 0;
	written[fd].appends = !begins;
}
