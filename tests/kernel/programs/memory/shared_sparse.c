/* mmap(2): pages of shared memory that nobody touches take no memory. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/stat.h>

int main(void)
{
	enum { SIZE = 256 << 20 };
	const int fd = memfd_create("sparse", 0);
	struct stat st;

	MUST(fd >= 0 && !ftruncate(fd, SIZE));
	char *const p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *const again = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED && again != MAP_FAILED);
	p[SIZE / 2] = 'm';
	p[SIZE - 1] = 'e';
	for (int i = 0; i < 4; i++) {
		MUST(!fstat(fd, &st));
		printf("%c%c, few blocks: %d\n", again[SIZE / 2], again[SIZE - 1], st.st_blocks < 1024);
	}
	SAY(munmap(p, SIZE));
	MUST(!fstat(fd, &st));
	printf("%c%c, few blocks: %d\n", again[SIZE / 2], again[SIZE - 1], st.st_blocks < 1024);
	return 0;
}
