/* Maps and unmaps more than rdb's range for mmap() holds: at a time, in the course of time, and below 2 GiB. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

static int failed;

static char *map(unsigned long len, int flags)
{
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
	if (at == MAP_FAILED) {
		failed++;
		return NULL;
	}
	failed += *at; /* fresh memory is zero */
	*at = 1;
	return at;
}

int main(void)
{
	const unsigned long huge = 8ul << 40, large = 64ul << 30, small = 64ul << 20;
	char *kept = map(large, 0);
	for (int i = 0; i < 3; i++)
		munmap(map(huge, 0), huge);
	for (int i = 0; i < 100; i++)
		munmap(map(large, 0), large);
	for (int i = 0; i < 100; i++)
		munmap(map(small, MAP_32BIT), small);
	printf("%d failed, %d\n", failed, *kept);
	return failed;
}
