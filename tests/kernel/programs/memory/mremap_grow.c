/* mremap(2): without MREMAP_MAYMOVE a mapping grows in place or fails with ENOMEM; with it, it moves and keeps its bytes. */
#include "../observe.h"
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	MUST(p != MAP_FAILED && !munmap(p + 2 * 4096, 2 * 4096));
	p[0] = 1;
	p[4096] = 2;
	OK(mremap(p, 2 * 4096, 5 * 4096, 0));
	printf("%d\n", mremap(p, 2 * 4096, 4 * 4096, 0) == p);
	printf("%d %d\n", p[3 * 4096], p[4 * 4096]);
	q = mremap(p, 4 * 4096, 16 * 4096, MREMAP_MAYMOVE);
	MUST(q != MAP_FAILED);
	printf("%d %d %d %d\n", q != p, q[0], q[4096], q[15 * 4096]);
	OK(mremap(p, 4096, 2 * 4096, MREMAP_MAYMOVE));
	printf("%d\n", mremap(q, 16 * 4096, 4096, 0) == q);
	OK(msync(q + 4096, 4096, MS_ASYNC));
	OK(mremap(q + 1, 4096, 4096, 0));
	OK(mremap(q, 4096, 0, 0));
	OK(mremap(q, 4096, 4096, 64));
	return 0;
}
