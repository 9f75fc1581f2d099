/* ioctl(2): FIOCLEX, FIONBIO, FIONREAD, FIOQSIZE, FS_IOC_GETFLAGS and FIEMAP on files. */
#include "../observe.h"
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

int main(void)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + 4 * sizeof(struct fiemap_extent)];
	} u = {.map = {.fm_length = FIEMAP_MAX_OFFSET, .fm_flags = FIEMAP_FLAG_SYNC, .fm_extent_count = 4}};
	long long size = 0;
	int fd, on = 1, n = 0, two[2], flags = 0;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(fd, "0123456789", 10) == 10 && !pipe(two));
	SAY(ioctl(fd, FIOCLEX));
	SAY(fcntl(fd, F_GETFD));
	SAY(ioctl(fd, FIONCLEX));
	SAY(fcntl(fd, F_GETFD));
	SAY(ioctl(fd, FIONBIO, &on));
	printf("%x\n", fcntl(fd, F_GETFL) & O_NONBLOCK);
	SAY(lseek(fd, 4, SEEK_SET));
	SAY(ioctl(fd, FIONREAD, &n));
	SAY(n);
	SAY(lseek(fd, 20, SEEK_SET));
	SAY(ioctl(fd, FIONREAD, &n));
	SAY(n);
	SAY(ioctl(fd, FIOQSIZE, &size));
	SAY(size);
	SAY(ioctl(two[0], FIOQSIZE, &size));
	if (!ioctl(fd, FS_IOC_GETFLAGS, &flags))
		printf("immutable: %d\n", (flags & FS_IMMUTABLE_FL) != 0);
	if (!ioctl(fd, FS_IOC_FIEMAP, &u))
		printf("%u extents, the last: %d\n", u.map.fm_mapped_extents,
		       (u.map.fm_extents[0].fe_flags & FIEMAP_EXTENT_LAST) != 0);
	SAY(ioctl(fd, TIOCGWINSZ, &u));
	SAY(ioctl(fd, 0x4711, &u));
	SAY(ioctl(99, FIONREAD, &n));
	SAY(ioctl(fd, FIONREAD, (int *)8));
	int bs = 0;
	SAY(ioctl(fd, FIGETBSZ, &bs));
	SAY(bs >= 512);
	return 0;
}
