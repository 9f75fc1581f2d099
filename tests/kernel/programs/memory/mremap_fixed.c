/* mremap(2): MREMAP_FIXED unmaps what was at the new place; overlapping ranges and flags alone are EINVAL. */
#include "../observe.h"
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED && q != MAP_FAILED);
	memset(p, 'p', 4 * 4096);
	memset(q, 'q', 4 * 4096);
	OK(mremap(p, 4096, 4096, MREMAP_FIXED, q));
	OK(mremap(p, 2 * 4096, 2 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, p + 4096));
	OK(mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, q + 1));
	printf("%d\n", mremap(p + 4096, 4096, 2 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, q + 4096) == q + 4096);
	printf("%c%c%d%c\n", q[0], q[4096], q[2 * 4096], q[3 * 4096]);
	OK(msync(p + 4096, 4096, MS_ASYNC));
	OK(msync(p + 2 * 4096, 4096, MS_ASYNC));
	return 0;
}
