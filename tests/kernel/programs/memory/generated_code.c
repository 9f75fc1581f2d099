/* mprotect(2): text that the program writes runs once it is executable, and changes with the next writing. */
#include "../observe.h"
#include <sys/mman.h>

typedef int function(void);

int main(void)
{
	unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $N,%eax; ret */
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	for (int i = 1; i < 5; i++) {
		MUST(!mprotect(p, 4096, PROT_READ | PROT_WRITE));
		code[1] = (unsigned char)i;
		memcpy(p + 64 * i, code, sizeof(code));
		memcpy(p, code, sizeof(code));
		MUST(!mprotect(p, 4096, PROT_READ | PROT_EXEC));
		printf("%d %d\n", ((function *)p)(), ((function *)(p + 64 * i))());
	}
	return 0;
}
