/* msync(2): MS_SYNC makes a shared mapping's bytes the file's; EINVAL for both ways or an odd address, ENOMEM for holes. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600);
	char *p, to[8] = "";

	MUST(fd >= 0 && !ftruncate(fd, 3 * 4096));
	p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	strcpy(p + 4096, "stored");
	SAY(msync(p, 3 * 4096, MS_SYNC));
	SAY(pread(fd, to, 7, 4096));
	puts(to);
	SAY(msync(p, 4096, MS_SYNC | MS_ASYNC));
	SAY(msync(p + 1, 4096, MS_SYNC));
	SAY(msync(p, 4096, 64));
	SAY(msync(p, 4096, MS_INVALIDATE));
	MUST(!munmap(p + 4096, 4096));
	SAY(msync(p, 3 * 4096, MS_SYNC));
	SAY(msync(p, 4096, 0));
	return 0;
}
