/* statx(2): the mask tells which fields are there; attributes, birth, mount and alignment of direct I/O. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	struct statx a, b;
	struct stat s;
	int fd = open("file", O_CREAT | O_RDWR, 0640);

	MUST(fd >= 0 && write(fd, "0123456789", 10) == 10);
	memset(&a, 0xff, sizeof a);
	SAY(statx(AT_FDCWD, "file", 0, STATX_BASIC_STATS | STATX_BTIME, &a));
	MUST(!stat("file", &s));
	printf("%d %o %u %llu\n", (a.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS, a.stx_mode, a.stx_nlink,
	       (unsigned long long)a.stx_size);
	printf("%d %d %d\n", a.stx_ino == s.st_ino, a.stx_mtime.tv_sec == s.st_mtim.tv_sec,
	       a.stx_blksize == (unsigned)s.st_blksize);
	if (a.stx_mask & STATX_BTIME)
		printf("born before: %d\n", a.stx_btime.tv_sec <= a.stx_mtime.tv_sec);
	SAY(statx(AT_FDCWD, "/proc", 0, STATX_BASIC_STATS, &b));
	printf("a mount's root: %d\n", !!(b.stx_attributes & b.stx_attributes_mask & 0x2000));
	SAY(statx(fd, "", AT_EMPTY_PATH, 0, &b));
	SAY(statx(AT_FDCWD, "file", 0, 0x1000 | 0x2000, &b)); /* STATX_MNT_ID, STATX_DIOALIGN */
	SAY(statx(AT_FDCWD, "file", 0, STATX_ALL, (struct statx *)8));
	SAY(statx(AT_FDCWD, "absent", 0, STATX_ALL, &b));
	return 0;
}
