/* sigaction(2): SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP carry the reason and the address of the fault. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

static sigjmp_buf back;
static char *base;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d code %d", sig, info->si_code);
	if (sig == SIGSEGV || sig == SIGBUS)
		printf(" offset %ld", info->si_addr ? (long)((char *)info->si_addr - base) : -1L);
	printf("\n");
	siglongjmp(back, 1);
}

int main(void)
{
	static const int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	volatile int zero = 0;
	FILE *file = tmpfile();
	char *map;

	for (unsigned i = 0; i < sizeof sigs / sizeof *sigs; i++)
		MUST(!sigaction(sigs[i], &action, NULL));
	base = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(base != MAP_FAILED && !munmap(base + 8192, 4096) && file);
	if (!sigsetjmp(back, 1))
		base[17] = 1;
	if (!sigsetjmp(back, 1))
		printf("%d\n", base[8192 + 5]);
	MUST(!mprotect(base + 4096, 4096, PROT_NONE));
	if (!sigsetjmp(back, 1))
		printf("%d\n", base[4096 + 3]);
	if (!sigsetjmp(back, 1))
		*(volatile char *)0 = 1;
	if (!sigsetjmp(back, 1))
		__asm__ volatile("movb (%0), %%al" : : "r"(0x8000000000000000ul) : "rax");
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fileno(file), 0);
	MUST(map != MAP_FAILED);
	base = map;
	if (!sigsetjmp(back, 1))
		printf("%d\n", map[4100]);
	if (!sigsetjmp(back, 1))
		printf("%d\n", 1 / zero);
	if (!sigsetjmp(back, 1))
		printf("%d\n", (INT32_MIN + zero) / (zero - 1));
	if (!sigsetjmp(back, 1))
		__asm__ volatile("ud2");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("int3");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("hlt");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %%rax, %%cr3" ::: "memory");
	return 0;
}
