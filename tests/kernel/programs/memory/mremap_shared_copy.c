/* mremap(2): an old size of 0 makes a second mapping of the pages of a shared mapping; EINVAL for a private one. */
#include "../observe.h"
#include <sys/mman.h>

int main(void)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	MUST(p != MAP_FAILED && own != MAP_FAILED);
	strcpy(p, "first");
	OK(mremap(own, 0, 4096, MREMAP_MAYMOVE));
	OK(mremap(p, 0, 4096, 0));
	q = mremap(p, 0, 4096, MREMAP_MAYMOVE);
	MUST(q != MAP_FAILED);
	printf("%s\n", q);
	strcpy(q, "second");
	printf("%s\n", p);
	return 0;
}
