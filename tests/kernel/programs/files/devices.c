/* full(4): /dev/full, /dev/null, /dev/zero and /dev/urandom: reading, writing, seeking, mapping. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

int main(void)
{
	static char text[40000];
	struct stat s;
	int fd, sum = 0, status;

	MUST((fd = open("/dev/full", O_RDWR)) >= 0);
	SAY(write(fd, "x", 1));
	SAY(write(fd, "x", 0));
	SAY(read(fd, text, 100));
	SAY(lseek(fd, 1000, SEEK_SET));
	MUST((fd = open("/dev/null", O_RDWR | O_TRUNC)) >= 0);
	SAY(write(fd, text, sizeof text));
	SAY(read(fd, text, 1));
	SAY(lseek(fd, 1000, SEEK_SET));
	SAY(lseek(fd, 0, SEEK_CUR));
	SAY(ftruncate(fd, 0));
	SAY(isatty(fd));
	MUST(!fstat(fd, &s));
	printf("%d,%d\n", major(s.st_rdev), minor(s.st_rdev));
	MUST((fd = open("/dev/zero", O_RDWR)) >= 0);
	memset(text, 'x', sizeof text);
	SAY(read(fd, text, sizeof text));
	for (size_t i = 0; i < sizeof text; i++)
		sum += text[i];
	SAY(sum);
	SAY(write(fd, text, 10));
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MUST(shared != MAP_FAILED && private != MAP_FAILED);
	if (!fork()) {
		*shared = 7;
		*private = 8;
		_exit(0);
	}
	MUST(wait(&status) > 0);
	printf("%d %d\n", *shared, *private);
	MUST((fd = open("/dev/urandom", O_RDWR)) >= 0);
	SAY(read(fd, text, sizeof text));
	SAY(ioctl(fd, FIONREAD, &sum));
	SAY(open("/dev/tty", O_RDWR | O_NOCTTY) < 0);
	return 0;
}
