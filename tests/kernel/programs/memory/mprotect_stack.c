/* mprotect(2): PROT_GROWSDOWN reaches down to where the stack begins, and is refused for other memory. */
#include "../observe.h"
#include <stdint.h>
#include <sys/mman.h>

static long (*volatile on_stack)(void);

int main(void)
{
	/* mov $42, %eax; ret */
	unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
	char *const page = (char *)((uintptr_t)code & ~4095ul);
	char *const other = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(other != MAP_FAILED && !munmap(other + 4096, 4096));
	SAY(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_GROWSDOWN));
	SAY(mprotect(page, 1, PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN));
	on_stack = (long (*)(void))(void *)code;
	printf("code on the stack: %ld\n", on_stack() & 255);
	SAY(mprotect(page + 1, 4096, PROT_READ | PROT_WRITE | PROT_GROWSDOWN));
	SAY(mprotect(page, 0, PROT_READ | PROT_GROWSDOWN));
	SAY(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_GROWSUP));
	SAY(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_GROWSUP | PROT_GROWSDOWN));
	SAY(mprotect(other, 4096, PROT_READ | PROT_GROWSDOWN));
	SAY(mprotect(other, 2 * 4096, PROT_READ | PROT_GROWSUP));
	SAY(mprotect(other + 4096, 4096, PROT_READ | PROT_GROWSDOWN));
	SAY(mprotect(other + 4096, 2 * 4096, PROT_READ | PROT_GROWSDOWN));
	other[0] = 1;
	SAY(mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0) == MAP_FAILED);
	return 0;
}
