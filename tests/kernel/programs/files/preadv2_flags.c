/* readv(2): the flags of preadv2 and pwritev2; offset -1 is the file's own offset. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/uio.h>

int main(void)
{
	char text[16] = "";
	struct iovec out = {"0123456789", 10}, in = {text, 4};
	int fd, two[2];

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe(two));
	SAY(pwritev2(fd, &out, 1, -1, 0));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(pwritev2(fd, &out, 1, 2, RWF_APPEND));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(lseek(fd, 0, SEEK_END));
	SAY(pwritev2(fd, &out, 1, 0, RWF_DSYNC));
	SAY(pwritev2(fd, &out, 1, -1, RWF_SYNC));
	SAY(lseek(fd, 3, SEEK_SET));
	SAY(preadv2(fd, &in, 1, -1, 0));
	puts(text);
	SAY(preadv2(fd, &in, 1, 8, RWF_HIPRI));
	puts(text);
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(preadv2(fd, &in, 1, 0, 0x4000000));
	SAY(pwritev2(fd, &out, 1, 0, 0x4000000));
	SAY(preadv2(fd, &in, 1, -2, 0));
	SAY(preadv2(two[0], &in, 1, -1, RWF_NOWAIT));
	SAY(pwritev2(two[1], &out, 1, -1, 0));
	SAY(preadv2(two[0], &in, 1, -1, RWF_NOWAIT));
	puts(text);
	SAY(preadv2(two[0], &in, 1, 0, 0));
	return 0;
}
