#include "answer/path_argument.h"
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include "task/newer_calls.h"

static bool put(struct path_argument *p, int dir, int at, bool follows)
{
	*p = (struct path_argument){.at = at, .dir = dir, .follows = follows};
	return true;
}

/* open(2) */
static bool opens_link(uint64_t flags)
{
	return !(flags & O_NOFOLLOW) && !(flags & O_CREAT && flags & O_EXCL);
}

static bool position(uint64_t nr, const uint64_t a[6], struct path_argument *p)
{
	switch (nr) {
	case SYS_open: return put(p, -1, 0, opens_link(a[1]));
	case SYS_openat: return put(p, 0, 1, opens_link(a[2]));
	case SYS_stat:
	case SYS_access:
	case SYS_execve:
	case SYS_truncate:
	case SYS_chdir:
	case SYS_creat:
	case SYS_chmod:
	case SYS_chown:
	case SYS_utime:
	case SYS_statfs:
	case SYS_setxattr:
	case SYS_getxattr:
	case SYS_listxattr:
	case SYS_removexattr:
	case SYS_utimes: return put(p, -1, 0, true);
	case SYS_lstat:
	case SYS_mkdir:
	case SYS_rmdir:
	case SYS_readlink:
	case SYS_mknod:
	case SYS_unlink:
	case SYS_lsetxattr:
	case SYS_lgetxattr:
	case SYS_llistxattr:
	case SYS_lremovexattr:
	case SYS_lchown: return put(p, -1, 0, false);
	case SYS_inotify_add_watch: return put(p, -1, 1, !(a[2] & IN_DONT_FOLLOW));
	case SYS_futimesat:
	case SYS_fchmodat:
	case SYS_faccessat:
	case SYS_openat2: return put(p, 0, 1, true);
	case SYS_statx:
	case SYS_setxattrat:
	case SYS_getxattrat:
	case SYS_listxattrat:
	case SYS_removexattrat: return put(p, 0, 1, !(a[2] & AT_SYMLINK_NOFOLLOW));
	case SYS_newfstatat:
	case SYS_utimensat:
	case SYS_faccessat2:
	case SYS_fchmodat2: return put(p, 0, 1, !(a[3] & AT_SYMLINK_NOFOLLOW));
	case SYS_execveat:
	case SYS_fchownat: return put(p, 0, 1, !(a[4] & AT_SYMLINK_NOFOLLOW));
	case SYS_name_to_handle_at: return put(p, 0, 1, a[4] & AT_SYMLINK_FOLLOW);
	case SYS_mkdirat:
	case SYS_mknodat:
	case SYS_unlinkat:
	case SYS_readlinkat: return put(p, 0, 1, false);
	case SYS_symlink: return put(p, -1, 1, false);
	case SYS_symlinkat: return put(p, 1, 2, false);
	default: return false;
	}
}

/* utimensat(2), futimesat(2): without a path the descriptor itself is meant. */
bool path_argument(uint64_t nr, const uint64_t a[6], struct path_argument *p)
{
	return position(nr, a, p) && a[p->at];
}
