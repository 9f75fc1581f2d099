/* madvise(2): MADV_POPULATE_READ and _WRITE make pages present; EFAULT or ENOMEM where that is impossible. */
#include "../observe.h"
#include <sys/mman.h>
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

int main(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in[4];

	MUST(p != MAP_FAILED);
	if (madvise(p, 4096, MADV_POPULATE_READ))
		skip("MADV_POPULATE_READ");
	SAY(madvise(p + 4096, 4096, MADV_POPULATE_WRITE));
	MUST(!mincore(p, 4 * 4096, in));
	printf("%d%d%d\n", in[0] & 1, in[1] & 1, in[2] & 1);
	MUST(!mprotect(p + 2 * 4096, 4096, PROT_READ));
	SAY(madvise(p + 2 * 4096, 4096, MADV_POPULATE_WRITE));
	MUST(!munmap(p + 3 * 4096, 4096));
	SAY(madvise(p + 2 * 4096, 2 * 4096, MADV_POPULATE_READ));
	return 0;
}
