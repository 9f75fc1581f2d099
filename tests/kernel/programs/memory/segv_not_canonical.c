/* sigaction(2): an address that is not canonical raises SIGSEGV with SI_KERNEL and no address. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static siginfo_t seen;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	seen = *info;
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction how = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &how, NULL);
	if (!sigsetjmp(back, 1))
		printf("%d\n", *(volatile char *)0x8000000000000000ul);
	printf("%d %d %p\n", seen.si_signo, seen.si_code == SI_KERNEL, seen.si_addr);
	if (!sigsetjmp(back, 1))
		*(volatile char *)0x4141414141414141ul = 1;
	printf("%d %d %p\n", seen.si_signo, seen.si_code == SI_KERNEL, seen.si_addr);
	return 0;
}
