/* statfs(2): kinds of file system by their magic numbers, flags of mounts, and errors. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

int main(void)
{
	struct statfs a, b;
	struct statvfs v;
	int two[2];

	MUST(!statfs("/proc", &a));
	printf("proc %lx, names of %ld\n", (long)a.f_type, (long)a.f_namelen);
	MUST(!pipe(two) && !fstatfs(two[0], &a));
	printf("pipe %lx\n", (long)a.f_type);
	MUST(!fstatfs(memfd_create("x", 0), &a));
	printf("memfd %lx, block of %ld\n", (long)a.f_type, (long)a.f_bsize);
	MUST(!statfs(".", &a) && !fstatfs(open(".", O_RDONLY), &b));
	printf("the same: %d\n", a.f_type == b.f_type && a.f_blocks == b.f_blocks && !memcmp(&a.f_fsid, &b.f_fsid, 8));
	MUST(!statvfs(".", &v));
	printf("blocks fit: %d, %lu\n", v.f_blocks >= v.f_bfree && v.f_bfree >= v.f_bavail, v.f_namemax);
	SAY(statfs("absent", &a));
	SAY(statfs("/proc/self/exe/x", &a));
	SAY(fstatfs(99, &a));
	SAY(pathconf(".", _PC_NAME_MAX));
	SAY(pathconf(".", _PC_PIPE_BUF));
	return 0;
}
