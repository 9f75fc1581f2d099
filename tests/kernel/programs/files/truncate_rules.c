/* truncate(2): growing adds zeros, the offset stays, errors by descriptor and kind of file. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char bytes[16];
	int fd, reading, two[2], zero = 0;
	struct stat before, after;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && (reading = open("file", O_RDONLY)) >= 0 && !pipe(two));
	MUST(!mkdir("dir", 0700) && write(fd, "0123456789", 10) == 10);
	SAY(truncate("file", 4));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(ftruncate(fd, 12));
	SAY(pread(fd, bytes, 16, 0));
	for (int i = 4; i < 12; i++)
		zero += !bytes[i];
	SAY(zero);
	SAY(write(fd, "A", 1));
	SAY(ftruncate(reading, 0));
	SAY(ftruncate(fd, -1));
	SAY(truncate("file", -1));
	SAY(truncate("dir", 0));
	SAY(truncate("absent", 0));
	SAY(truncate("file/x", 0));
	SAY(ftruncate(two[1], 0));
	SAY(ftruncate(99, 0));
	MUST(!fstat(fd, &before));
	SAY(ftruncate(fd, before.st_size)); /* changes no byte, but the times */
	MUST(!fstat(fd, &after));
	printf("mtime older: %d\n", after.st_mtim.tv_sec < before.st_mtim.tv_sec);
	SAY(ftruncate(fd, 0x7fffffffffffffff) < 0);
	return 0;
}
