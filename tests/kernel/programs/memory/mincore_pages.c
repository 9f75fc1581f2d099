/* mincore(2): only touched private pages are there; EINVAL, ENOMEM, EFAULT. */
#include "../observe.h"
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in[5] = {0};

	MUST(p != MAP_FAILED);
	p[4096] = p[3 * 4096] = 1;
	SAY(mincore(p, 5 * 4096, in));
	for (int i = 0; i < 5; i++)
		printf("%d", in[i] & 1);
	puts("");
	SAY(mincore(p + 1, 4096, in));
	SAY(mincore(p, 4096, (void *)8));
	SAY(mincore(p, 0, in));
	MUST(!munmap(p + 4096, 4096));
	SAY(mincore(p, 2 * 4096, in));
	return 0;
}
