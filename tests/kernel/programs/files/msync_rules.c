/* msync(2): flags and ranges that it refuses; what is stored is in the file also without it. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	char text[16] = "";
	long page = sysconf(_SC_PAGESIZE);
	int fd;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !ftruncate(fd, 4 * page));
	char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	strcpy(memory + 10, "stored");
	SAY(msync(memory, 4 * page, MS_SYNC));
	SAY(msync(memory, 1, MS_ASYNC | MS_INVALIDATE));
	SAY(msync(memory, 1, MS_ASYNC | MS_SYNC));
	SAY(msync(memory, 1, 0));
	SAY(msync(memory, 1, 64));
	SAY(msync(memory + 1, 1, MS_SYNC));
	SAY(msync(memory, 0, MS_SYNC));
	SAY(pread(fd, text, 6, 10));
	puts(text);
	strcpy(memory + page, "not synced");
	MUST(!munmap(memory + page, page));
	SAY(msync(memory, 4 * page, MS_SYNC));
	SAY(pread(fd, text, 10, page));
	puts(text);
	MUST(pwrite(fd, "written", 8, 2 * page) == 8);
	puts(memory + 2 * page);
	SAY(close(fd));
	strcpy(memory, "after close");
	SAY(msync(memory, page, MS_SYNC));
	SAY(pread(open("file", O_RDONLY), text, 11, 0));
	puts(text);
	return 0;
}
