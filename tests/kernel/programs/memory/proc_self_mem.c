/* proc(5): /proc/self/mem reads and writes memory, also where it is read-only; EIO where nothing is. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), to[16] = "";
	int fd = open("/proc/self/mem", O_RDWR);

	MUST(p != MAP_FAILED && fd >= 0);
	strcpy(p, "hello");
	MUST(!munmap(p + 4096, 4096) && !mprotect(p, 4096, PROT_READ));
	SAY(pread(fd, to, 6, (off_t)p));
	puts(to);
	SAY(pwrite(fd, "jolly", 5, (off_t)p));
	puts(p);
	SAY(pread(fd, to, 6, (off_t)(p + 4096)));
	SAY(pread(fd, to, 16, (off_t)(p + 4096 - 8)));
	MUST(lseek(fd, (off_t)p, SEEK_SET) == (off_t)p);
	SAY(read(fd, to, 3));
	SAY(read(fd, to + 3, 2));
	puts(to);
	return 0;
}
