/* Stores in more shared memory than is compared at every event: shared_large FILE file|anonymous */
#include "calls.h"
#include <sys/mman.h>

enum { BYTES = 4 << 20, WORDS = BYTES / 4 };

int main(int argc, char **argv)
{
	NEED(argc == 3);
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	NEED(fd >= 0 && ftruncate(fd, BYTES) == 0);
	const int flags = *argv[2] == 'a' ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
	unsigned *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, *argv[2] == 'a' ? -1 : fd, 0);
	NEED(p != MAP_FAILED);
	for (unsigned turn = 0; turn < 300; turn++) {
		for (unsigned i = 0; i < WORDS; i += 512)
			p[i] += turn + i;
		getppid();
	}
	unsigned sum = 0;
	for (unsigned i = 0; i < WORDS; i++)
		sum = sum * 31 + p[i];
	printf("%u\n", sum);
	return 0;
}
