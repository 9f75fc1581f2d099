/* Memory of many pages, and what may be done to it: a replica settles it between any two events. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MB (1ul << 20)
#define PAGE 4096

static void fill(uint64_t *at, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes / 8; i += 512)
		at[i] = seed += 0x9e3779b97f4a7c15ul;
}

int main(void)
{
	size_t len = 12 * MB;
	char *a = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fill((uint64_t *)a, len, 1);
	getppid();
	for (size_t at = 0; at < len; at += 32 * PAGE) /* here and there */
		memset(a + at, 7, 8);
	getppid();
	madvise(a + 2 * MB, 3 * MB, MADV_DONTNEED);
	mprotect(a + 4 * MB, 2 * MB, PROT_READ);
	a = mremap(a + 6 * MB, 6 * MB, 10 * MB, MREMAP_MAYMOVE);
	fill((uint64_t *)(a + 5 * MB), 3 * MB, 2);
	getppid();
	munmap(a + 2 * MB, 2 * MB);
	char *b = sbrk((intptr_t)(5 * MB));
	fill((uint64_t *)b, 5 * MB, 3);
	getppid();
	sbrk(-(intptr_t)(2 * MB));
	fill((uint64_t *)a, MB, 4);
	return (int)getppid() == 0;
}
