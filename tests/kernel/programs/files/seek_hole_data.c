/* lseek(2): SEEK_HOLE and SEEK_DATA find holes; at the end there is a virtual hole; behind it ENXIO. */
#include "../observe.h"
#include <fcntl.h>

int main(void)
{
	int fd, two[2];
	long big = 1 << 20;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe(two));
	SAY(lseek(fd, 0, SEEK_DATA));
	SAY(lseek(fd, 0, SEEK_HOLE));
	MUST(pwrite(fd, "start", 5, 0) == 5 && pwrite(fd, "end", 3, 3 * big) == 3);
	SAY(lseek(fd, 0, SEEK_DATA));
	long hole = lseek(fd, 0, SEEK_HOLE), data = lseek(fd, big, SEEK_DATA);
	printf("a hole: %d, data: %d\n", hole > 0 && hole<data, data> hole && data <= 3 * big);
	SAY(lseek(fd, 3 * big, SEEK_HOLE));
	SAY(lseek(fd, 3 * big + 3, SEEK_HOLE));
	SAY(lseek(fd, 3 * big + 3, SEEK_DATA));
	SAY(lseek(fd, -1, SEEK_DATA));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(lseek(two[0], 0, SEEK_DATA));
	SAY(lseek(fd, 0, 77));
	return 0;
}
