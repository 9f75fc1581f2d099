/* mremap(2): MREMAP_DONTUNMAP leaves an empty mapping behind. */
#include "../observe.h"
#include <sys/mman.h>
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

int main(void)
{
	char *p = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	MUST(p != MAP_FAILED);
	memset(p, 7, 2 * 4096);
	OK(mremap(p, 4096, 4096, MREMAP_DONTUNMAP));
	OK(mremap(p, 4096, 2 * 4096, MREMAP_DONTUNMAP | MREMAP_MAYMOVE));
	q = mremap(p, 2 * 4096, 2 * 4096, MREMAP_DONTUNMAP | MREMAP_MAYMOVE);
	MUST(q != MAP_FAILED);
	printf("%d %d %d\n", p[0], q[0], q[4096]);
	p[0] = 9;
	printf("%d %d\n", p[0], q[0]);
	return 0;
}
