#include "answer/redirect.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/lower.h"
#include "base/user.h"
#include "answer/other_names.h"
#include "answer/own_proc.h"
#include "answer/path_argument.h"

const struct other_names *other_names;

static struct {
	dev_t dev;
	ino_t ino;     /* 0: not known */
	char link[32]; /* of our descriptor of it */
} program;

bool redirect_self(int dir, const char *path)
{
	char name[OWN_PROC_NAME];
	int tid;
	return own_proc_file(dir, path, name, &tid) && !strcmp(name, "exe");
}

const char *redirect_exe(void)
{
	return *program.link ? program.link : lower.upper.exe;
}

void redirect_followed(uint64_t nr, uint64_t a[6])
{
	struct path_argument p = {.at = 1, .dir = 0, .follows = a[4] & AT_SYMLINK_FOLLOW};
	if (nr == SYS_open || nr == SYS_openat || nr == SYS_execve || nr == SYS_execveat)
		return; /* whoever carries it out asks redirect_self() */
	if (nr != SYS_linkat && !path_argument(nr, a, &p))
		return;
	if (p.follows && redirect_self(p.dir < 0 ? AT_FDCWD : (int)a[p.dir], (const char *)a[p.at]))
		a[p.at] = (uint64_t)redirect_exe();
}

/* fs/stat.c, do_readlinkat; fs/namei.c, readlink_copy */
long redirect_readlink(uint64_t buf, int size)
{
	if (*program.link)
		return raw_syscall(SYS_readlink, (long)program.link, (long)buf, size, 0, 0, 0);
	size_t len = strlen(lower.upper.exe);
	if (size <= 0)
		return -EINVAL;
	if (len > (size_t)size)
		len = (size_t)size;
	return user_write(buf, lower.upper.exe, len) ? -EFAULT : (long)len;
}

void redirect_program(int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return;
	program.dev = st.st_dev;
	program.ino = st.st_ino;
	snprintf(program.link, sizeof(program.link), "/proc/self/fd/%d", fd);
}

/* fs/exec.c, exe_file_deny_write_access: some kernels let the file of a running program be written.  Ours says. */
static bool kernel_allows(void)
{
	const int fd = descriptor_open(AT_FDCWD, "/proc/self/exe", O_WRONLY, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool redirect_busy(uint64_t nr, const uint64_t a[6], long *result)
{
	struct stat st;
	const bool at = nr == SYS_openat;
	unsigned flags = nr == SYS_creat ? O_CREAT | O_WRONLY : nr == SYS_truncate ? O_WRONLY : (unsigned)a[1 + at];
	const bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	if ((nr != SYS_open && !at && nr != SYS_creat && (nr != SYS_truncate || (int64_t)a[1] < 0)) || !writes ||
	    flags & O_PATH || !program.ino)
		return false;
	const int dir = at ? (int)a[0] : AT_FDCWD;
	const char *path = (const char *)a[at];
	if (fstatat(dir, path, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) || st.st_ino != program.ino ||
	    st.st_dev != program.dev || kernel_allows())
		return false;
	/* what else is wrong is told first */
	flags = (flags & ~(unsigned)O_TRUNC) | ((flags & O_ACCMODE) == O_RDONLY ? O_RDWR : 0);
	const int fd = descriptor_open(dir, path, (int)flags, 0);
	if (fd >= 0)
		close(fd);
	*result = fd >= 0 ? -ETXTBSY : fd;
	return true;
}

static bool names(const char *base, const char *library)
{
	return !strncmp(base, library, strlen(library));
}

/* The stub for the ABI of this MPI library.  Stubs have the names of the libraries they stand for. */
static const char *mpi_stub_for(const char *base)
{
	const char *wanted = names(base, "/libmpi.so.12") ? "/libmpich.so.12"
							  : base; /* MPICH's own name and Debian's */
	for (unsigned i = 0; i < MPI_STUBS && lower.opt.mpi_stub[i]; i++) {
		const char *stub = strrchr(lower.opt.mpi_stub[i], '/');
		if (stub && names(wanted, stub))
			return lower.opt.mpi_stub[i];
	}
	return NULL;
}

static const char *stub_for(const char *base)
{
	return names(base, "/libibverbs.so.1")  ? lower.opt.verbs_stub
	       : names(base, "/librdmacm.so.1") ? lower.opt.cm_stub
						: mpi_stub_for(base);
}

/* For a name without a version, such as the libmpi.so that mpi4py's wheels open: its links lead to a file with a
 * version. */
static const char *stub_for_links(const char *path)
{
	char link[32], real[PATH_MAX];
	int fd = descriptor_open(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, real, sizeof(real) - 1);
	close(fd);
	if (len <= 0)
		return NULL;
	real[len] = 0;
	const char *base = strrchr(real, '/');
	return base ? stub_for(base) : NULL;
}

const char *redirected(const char *path)
{
	const char *base = path ? strrchr(path, '/') : NULL;
	if (!base || verifying())
		return path;
	const char *stub = stub_for(base);
	if (!stub && (names(base, "/libmpi") || names(base, "/libibverbs.so") || names(base, "/librdmacm.so")))
		stub = stub_for_links(path);
	return stub && !access(path, R_OK) ? stub : path;
}
