/* readv(2): a bad buffer behind good ones gives a partial result; the offset moves by what was transferred. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char good[8] = "abcdefg";
	int fd, two[2];

	MUST(memory != MAP_FAILED && !munmap(memory + page, page));
	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe2(two, O_NONBLOCK));
	struct iovec writes[2] = {{good, 7}, {memory + page, 10}};
	SAY(writev(fd, writes, 2));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(pwrite(fd, "0123456789abcdefghijklmnopqrstuvwxyz", 36, 0));
	struct iovec reads[3] = {{good, 4}, {memory + page, 10}, {good + 4, 3}};
	SAY(lseek(fd, 0, SEEK_SET));
	SAY(readv(fd, reads, 3));
	SAY(lseek(fd, 0, SEEK_CUR));
	printf("%.7s\n", good);
	/* half of the buffer is there */
	char *end = memory + page - 6;
	SAY(lseek(fd, 10, SEEK_SET));
	SAY(read(fd, end, 20));
	SAY(lseek(fd, 0, SEEK_CUR));
	printf("%.6s\n", end);
	SAY(pread(fd, memory + page, 5, 0));
	SAY(write(two[1], "pipe: twenty letters", 20));
	SAY(read(two[0], end, 20));
	printf("%.6s\n", end);
	SAY(read(two[0], good, 4));
	printf("%.7s\n", good);
	SAY(write(two[1], end, 12));
	SAY(writev(fd, writes + 1, 1));
	SAY(read(fd, memory + page, 0));
	SAY(readv(fd, (void *)(memory + page), 1));
	return 0;
}
