/* madvise(2): after MADV_DONTNEED private memory is zero, a private file mapping is the file again, shared memory stays. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600);
	char *own, *file, *shared;

	MUST(fd >= 0 && write(fd, "file", 4) == 4 && !ftruncate(fd, 4096));
	own = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(own != MAP_FAILED && file != MAP_FAILED && shared != MAP_FAILED);
	strcpy(own, "own");
	strcpy(own + 4096, "next");
	file[0] = 'm';
	strcpy(shared, "shared");
	SAY(madvise(own, 10, MADV_DONTNEED));
	SAY(madvise(file, 4096, MADV_DONTNEED));
	SAY(madvise(shared, 4096, MADV_DONTNEED));
	printf("'%s' '%s' '%s' '%s'\n", own, own + 4096, file, shared);
	SAY(madvise(own + 1, 4096, MADV_DONTNEED));
	SAY(madvise(own, 4096, 9999));
	MUST(!munmap(own, 4096));
	SAY(madvise(own, 2 * 4096, MADV_DONTNEED));
	printf("'%s'\n", own + 4096);
	SAY(madvise(own + 4096, 0, MADV_DONTNEED));
	return 0;
}
