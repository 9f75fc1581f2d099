/* lseek(2): seeking behind the end changes nothing; a later write leaves zeros; EINVAL, EOVERFLOW, ESPIPE. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char bytes[32];
	struct stat status;
	int fd, two[2], zero = 0;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe(two));
	MUST(write(fd, "abc", 3) == 3);
	SAY(lseek(fd, 20, SEEK_SET));
	MUST(!fstat(fd, &status));
	SAY(status.st_size);
	SAY(read(fd, bytes, 4));
	SAY(write(fd, "z", 1));
	SAY(pread(fd, bytes, sizeof bytes, 0));
	for (int i = 3; i < 20; i++)
		zero += !bytes[i];
	SAY(zero);
	SAY(lseek(fd, -1, SEEK_SET));
	SAY(lseek(fd, -30, SEEK_END));
	SAY(lseek(fd, -1, SEEK_CUR));
	SAY(lseek(fd, 0x7fffffffffffffff, SEEK_SET));
	SAY(lseek(fd, 1, SEEK_END));
	SAY(lseek(fd, 0x7ffffffffffffff0, SEEK_CUR));
	SAY(lseek(two[0], 0, SEEK_CUR));
	SAY(lseek(0, 10, SEEK_SET));
	SAY(pwrite(fd, "x", 1, -1));
	SAY(pread(fd, bytes, 1, 0x7fffffffffffffff));
	SAY(pread(two[0], bytes, 1, 0));
	return 0;
}
