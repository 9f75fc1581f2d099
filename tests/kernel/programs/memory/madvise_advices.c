/* madvise(2): advice that changes no contents is accepted for what it applies to, and refused otherwise. */
#include "../observe.h"
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED && s != MAP_FAILED);
	strcpy(p, "kept");
	SAY(madvise(p, 4096, MADV_NORMAL));
	SAY(madvise(p, 4096, MADV_RANDOM));
	SAY(madvise(p, 4096, MADV_SEQUENTIAL));
	SAY(madvise(p, 4096, MADV_WILLNEED));
	SAY(madvise(p, 4096, MADV_DONTDUMP));
	SAY(madvise(p, 4096, MADV_DODUMP));
	SAY(madvise(p, 4096, MADV_COLD));
	SAY(madvise(p, 4096, MADV_PAGEOUT));
	SAY(madvise(s, 4096, MADV_WILLNEED));
	SAY(madvise(p + 4096, 4096, MADV_FREE));
	SAY(madvise(p, 4096, -1));
	SAY(madvise(p, -4096ul, MADV_NORMAL));
	p[4096] = 3;
	printf("%s %d\n", p, p[4096]);
	return 0;
}
