/* fallocate(2): KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE, COLLAPSE_RANGE, INSERT_RANGE and their errors. */
#include "../observe.h"
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>

static int fd;

static void show(void)
{
	struct stat status;
	char byte;

	MUST(!fstat(fd, &status));
	printf("%ld:", (long)status.st_size);
	for (long at = 0; at < status.st_size; at += 4096) {
		MUST(pread(fd, &byte, 1, at) == 1);
		printf(" %c", byte ? byte : '.');
	}
	putchar('\n');
}

int main(void)
{
	static char page[4096];
	int reading, two[2];

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe(two));
	for (char c = 'a'; c < 'g'; c++) {
		memset(page, c, sizeof page);
		MUST(write(fd, page, sizeof page) == sizeof page);
	}
	SAY(fallocate(fd, 0, 0, 7 * 4096));
	show();
	SAY(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 9 * 4096));
	show();
	SAY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096));
	show();
	SAY(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 4096, 4096));
	SAY(fallocate(fd, FALLOC_FL_ZERO_RANGE, 3 * 4096 + 5, 4096));
	show();
	SAY(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 4096, 4096));
	show();
	SAY(fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, 4096));
	show();
	SAY(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 1, 4096));
	SAY(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 100 * 4096));
	SAY(fallocate(fd, 0, 0, 0));
	SAY(fallocate(fd, 0, -1, 1));
	SAY(fallocate(fd, 0, 1, 0x7fffffffffffffff));
	SAY(fallocate(fd, 0x4000, 0, 1));
	SAY(fallocate(two[1], 0, 0, 1));
	MUST((reading = open("file", O_RDONLY)) >= 0);
	SAY(fallocate(reading, 0, 0, 1));
	SAY(posix_fallocate(reading, 0, 1));
	SAY(posix_fallocate(fd, 0, -1));
	show();
	return 0;
}
