/* memfd_create(2): text that is written through one mapping and run through another. */
#include "../observe.h"
#include <sys/mman.h>

typedef int function(int);

int main(void)
{
	unsigned char code[] = {0x8d, 0x47, 0, 0xc3}; /* lea N(%rdi),%eax; ret */
	int fd = memfd_create("code", 0);
	unsigned char *w, *x;

	MUST(fd >= 0 && !ftruncate(fd, 4096));
	w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (w == MAP_FAILED || x == MAP_FAILED)
		skip("executable memfd");
	for (int i = 0; i < 4; i++) {
		code[2] = (unsigned char)(10 * i);
		memcpy(w + 16 * i, code, sizeof(code));
		printf("%d\n", ((function *)(x + 16 * i))(i));
	}
	return 0;
}
