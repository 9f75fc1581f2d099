/* munmap(2): a hole in the middle leaves two mappings; what is not mapped is no error; EINVAL. */
#include "../observe.h"
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in;

	MUST(p != MAP_FAILED);
	memset(p, 5, 5 * 4096);
	SAY(munmap(p + 4096, 2 * 4096 - 100));
	SAY(munmap(p + 4096, 2 * 4096));
	for (int i = 0; i < 5; i++)
		printf("%s ", mincore(p + i * 4096, 4096, &in) ? "-" : p[i * 4096] == 5 ? "5" : "?");
	puts("");
	SAY(munmap(p + 1, 4096));
	SAY(munmap(p, 0));
	SAY(munmap(p, -4096ul));
	SAY(munmap(p, 5 * 4096));
	return 0;
}
