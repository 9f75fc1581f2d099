/* Files and directories: every way to make, read, move, describe and lock one. */
#include "calls.h"
#include <dirent.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <linux/fs.h>
#include <linux/vm_sockets.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>

static void data(int fd)
{
	char a[8], b[8], c[16];
	struct iovec v[2] = {{"first ", 6}, {"second", 6}}, in[2] = {{a, 6}, {b, 8}};
	NEED(writev(fd, v, 2) == 12 && pwrite(fd, "F", 1, 0) == 1 && pwritev(fd, v, 2, 100) == 12);
	NEED(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, in, 2) == 14 && a[0] == 'F');
	NEED(pread(fd, c, sizeof(c), 100) == 12 && preadv(fd, in, 2, 102) == 10 && preadv2(fd, in, 2, 0, 0) == 14);
	NEED(pwritev2(fd, v, 1, 200, 0) == 6);
	NEED(ftruncate(fd, 5000) == 0 && fsync(fd) == 0 && fdatasync(fd) == 0);
	NEED(posix_fallocate(fd, 0, 8192) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
	NEED(lseek(fd, 0, SEEK_DATA) == 0 || errno == EINVAL || errno == ENXIO);
	NEED(readahead(fd, 0, 4096) == 0 && sync_file_range(fd, 0, 4096, 0) == 0);
}

static void copies(int from, const char *dir)
{
	char name[128], buf[32];
	snprintf(name, sizeof(name), "%s/copy", dir);
	int to = open(name, O_RDWR | O_CREAT | O_EXCL, 0640), p[2], q[2];
	off_t at = 0;
	loff_t in = 0, out = 100;
	NEED(to >= 0 && pipe(p) == 0 && pipe(q) == 0);
	NEED(sendfile(to, from, &at, 50) == 50 && at == 50);
	NEED(copy_file_range(from, &in, to, &out, 20, 0) == 20 && in == 20 && out == 120);
	in = 0;
	NEED(splice(from, &in, p[1], NULL, 12, 0) == 12 && in == 12);
	NEED(tee(p[0], q[1], 12, 0) == 12 && read(q[0], buf, 32) == 12);
	out = 300;
	NEED(splice(p[0], NULL, to, &out, 12, 0) == 12);
	struct iovec v = {buf, 12}, w = {buf + 16, 12};
	NEED(vmsplice(p[1], &v, 1, 0) == 12 && vmsplice(p[0], &w, 1, 0) == 12);
	int clone = ioctl(to, FICLONE, from), flags = 0;
	printf("clone %d, flags %d\n", clone & 0, ioctl(to, FS_IOC_GETFLAGS, &flags) & 0);
	close(to);
	/* the request does not say that it writes */
	unsigned cid = 7;
	int vsock = open("/dev/vsock", O_RDONLY);
	int known = ioctl(vsock, IOCTL_VM_SOCKETS_GET_LOCAL_CID, &cid);
	printf("vsock %d, cid %u\n", known, cid);
	close(vsock);
}

static void names(const char *dir)
{
	char a[128], b[128], where[256];
	struct stat st;
	struct statx stx;
	struct statfs fs;
	int d = open(dir, O_RDONLY | O_DIRECTORY);
	snprintf(a, sizeof(a), "%s/copy", dir);
	snprintf(b, sizeof(b), "%s/moved", dir);
	NEED(d >= 0 && rename(a, b) == 0 && renameat(d, "moved", d, "again") == 0);
	NEED(symlink("again", b) == 0 && link(b, a) == 0 && mkdirat(d, "sub", 0700) == 0);
	NEED(syscall(SYS_renameat2, d, "again", d, "sub", RENAME_EXCHANGE) == 0);
	NEED(readlink(b, where, sizeof(where)) == 5 && readlinkat(d, "moved", where, 2) == 2);
	NEED(stat(dir, &st) == 0 && lstat(b, &st) == 0 && fstat(d, &st) == 0 && fstatat(d, "sub", &st, 0) == 0);
	NEED(statx(d, "sub", 0, STATX_ALL, &stx) == 0 && statfs(dir, &fs) == 0 && fstatfs(d, &fs) == 0);
	NEED(chmod(dir, 0750) == 0 && fchmod(d, 0700) == 0 && fchmodat(d, "sub", 0600, 0) == 0);
	NEED(access(dir, R_OK) == 0 && faccessat(d, "sub", R_OK, AT_EACCESS) == 0);
	struct timespec times[2] = {{1, 2}, {3, 4}};
	NEED(utimensat(d, "sub", times, 0) == 0 && fchown(d, getuid(), getgid()) == 0);
	DIR *list = fdopendir(d);
	int entries = 0;
	while (readdir(list))
		entries++;
	printf("%d entries\n", entries);
	NEED(getcwd(where, sizeof(where)) && chdir(dir) == 0 && getcwd(b, sizeof(b)) && chdir(where) == 0);
	struct {
		struct file_handle h;
		char room[128];
	} h = {.h.handle_bytes = 0};
	int mount;
	if (name_to_handle_at(AT_FDCWD, dir, &h.h, &mount, 0) < 0 && errno == EOVERFLOW)
		name_to_handle_at(AT_FDCWD, dir, &h.h, &mount, 0);
	NEED(unlinkat(dirfd(list), "sub", 0) == 0 && unlinkat(dirfd(list), "again", AT_REMOVEDIR) == 0);
	NEED(unlinkat(dirfd(list), "moved", 0) == 0);
	closedir(list);
}

static void locks(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10}, q = l;
	NEED(flock(fd, LOCK_EX) == 0 && flock(fd, LOCK_UN) == 0);
	NEED(fcntl(fd, F_SETLK, &l) == 0 && fcntl(fd, F_GETLK, &q) == 0 && q.l_type == F_UNLCK);
	q = l;
	q.l_pid = 0;
	NEED(fcntl(fd, F_OFD_GETLK, &q) == 0 && q.l_type == F_WRLCK);
	NEED(fcntl(fd, F_SETFL, O_APPEND) == 0 && (fcntl(fd, F_GETFL) & O_APPEND));
	int other = fcntl(fd, F_DUPFD_CLOEXEC, 50);
	struct f_owner_ex owner = {F_OWNER_PID, getpid()};
	NEED(other >= 50 && fcntl(other, F_SETOWN_EX, &owner) == 0 && fcntl(other, F_GETOWN_EX, &owner) == 0);
	close(other);
}

static void attributes(int fd)
{
	char v[16] = "unchanged", list[256];
	if (fsetxattr(fd, "user.rdb", "value", 5, 0) < 0) {
		printf("no extended attributes here\n");
		return;
	}
	NEED(fgetxattr(fd, "user.rdb", v, 0) == 5 && !strcmp(v, "unchanged")); /* how long is it? */
	NEED(fgetxattr(fd, "user.rdb", v, sizeof(v)) == 5 && flistxattr(fd, NULL, 0) > 0);
	NEED(flistxattr(fd, list, sizeof(list)) > 0 && fremovexattr(fd, "user.rdb") == 0);
}

int main(void)
{
	char dir[] = "/tmp/rdb-files-XXXXXX", name[64], buf[8];
	NEED(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/file", dir);
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	NEED(fd >= 0);
	data(fd);
	copies(fd, dir);
	names(dir);
	locks(fd);
	attributes(fd);
	int nameless = open(dir, O_TMPFILE | O_RDWR, 0600);
	NEED(nameless >= 0 || errno == EOPNOTSUPP);
	if (nameless >= 0)
		NEED(write(nameless, "gone", 4) == 4 && pread(nameless, buf, 8, 0) == 4);
	snprintf(buf, sizeof(buf), "copy");
	char copy[128];
	snprintf(copy, sizeof(copy), "%s/copy", dir);
	NEED(unlink(copy) == 0 && unlink(name) == 0 && rmdir(dir) == 0);
	puts("ok");
}
