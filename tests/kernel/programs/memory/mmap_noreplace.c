/* mmap(2): MAP_FIXED_NOREPLACE fails with EEXIST where a mapping is, also if it only overlaps. */
#include "../observe.h"
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	MUST(p != MAP_FAILED);
	p[4096] = 7;
	MUST(!munmap(p + 2 * 4096, 2 * 4096));
	OK(mmap(p, 4096, PROT_READ, flags, -1, 0));
	OK(mmap(p + 4096, 2 * 4096, PROT_READ, flags, -1, 0));
	printf("%d\n", mmap(p + 2 * 4096, 4096, PROT_READ, flags, -1, 0) == p + 2 * 4096);
	printf("%d %d\n", p[4096], p[2 * 4096]);
	OK(mmap(p + 1, 4096, PROT_READ, flags, -1, 0));
	return 0;
}
