/* mprotect(2): a range of several mappings with a hole: what lies before the hole is changed, and ENOMEM. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static void try(volatile char *p)
{
	if (sigsetjmp(back, 1))
		printf("refused\n");
	else
		printf("written %d\n", *p = 1);
}

int main(void)
{
	char *p = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	signal(SIGSEGV, on_fault);
	MUST(p != MAP_FAILED && !munmap(p + 3 * 4096, 4096));
	MUST(mmap(p + 4096, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	SAY(mprotect(p, 5 * 4096, PROT_READ));
	for (int i = 0; i < 5; i++)
		if (i != 3)
			try(p + i * 4096);
	SAY(mprotect(p, 3 * 4096, PROT_READ | PROT_WRITE));
	for (int i = 0; i < 3; i++)
		try(p + i * 4096);
	SAY(mprotect(p + 1, 4096, PROT_READ));
	SAY(mprotect(p, 0, PROT_READ));
	SAY(mprotect(p, 4096, 0x40));
	SAY(mprotect(p, 1, PROT_NONE));
	try(p + 4095);
	try(p + 4096);
	return 0;
}
