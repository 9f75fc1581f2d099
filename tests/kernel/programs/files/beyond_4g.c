/* pwrite(2): offsets above 4 GiB in a sparse file; what stat, lseek and mmap say of it. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

int main(void)
{
	const off_t far = 5L << 30;
	char text[16] = "";
	struct iovec v = {"vector", 6};
	struct stat s;
	off_t at = far;
	int fd, two[2];

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe(two));
	SAY(pwrite(fd, "far away", 8, far));
	SAY(pwritev(fd, &v, 1, far + 4096));
	MUST(!fstat(fd, &s));
	SAY(s.st_size);
	printf("sparse: %d\n", s.st_blocks < 1000);
	SAY(lseek(fd, far, SEEK_SET));
	SAY(read(fd, text, 8));
	puts(text);
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(sendfile(two[1], fd, &at, 3));
	SAY(at);
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, far);
	MUST(memory != MAP_FAILED);
	printf("%s, %.6s\n", memory, memory + 4096);
	strcpy(memory + 100, "mapped");
	SAY(pread(fd, text, 7, far + 100));
	puts(text);
	struct flock lock = {.l_type = F_WRLCK, .l_start = far, .l_len = 10};
	SAY(fcntl(fd, F_SETLK, &lock));
	SAY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, far, 4096));
	printf("%d %d\n", memory[0], memory[100]);
	SAY(ftruncate(fd, far + 1));
	SAY(lseek(fd, 0, SEEK_END));
	SAY(pread(fd, text, 7, far));
	return 0;
}
