/* sigaction(2): si_code of SIGSEGV is SEGV_MAPERR or SEGV_ACCERR, si_addr the address of the fault. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;
static siginfo_t seen;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	seen = *info;
	siglongjmp(back, 1);
}

static void try(const char *what, char *at, int write)
{
	volatile char *p = at;

	if (!sigsetjmp(back, 1)) {
		if (write)
			*p = 1;
		else
			(void)*p;
		printf("%s: nothing\n", what);
		return;
	}
	printf("%s: %s code %d at %d\n", what, sigabbrev_np(seen.si_signo), seen.si_code, (char *)seen.si_addr == at);
}

int main(void)
{
	struct sigaction how = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	char *p = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED && !munmap(p + 4096, 4096) && !mprotect(p + 2 * 4096, 4096, PROT_NONE));
	sigaction(SIGSEGV, &how, NULL);
	sigaction(SIGBUS, &how, NULL);
	try("read only", p + 5, 1);
	try("read only", p + 5, 0);
	try("nothing there", p + 4096 + 77, 0);
	try("nothing there", p + 4096 + 78, 1);
	try("none", p + 2 * 4096 + 3, 0);
	try("none", p + 2 * 4096 + 4, 1);
	try("null", NULL, 0);
	try("low", (char *)8, 1);
	if (!sigsetjmp(back, 1))
		((void (*)(void))(p + 16))();
	printf("jump: code %d at %d\n", seen.si_code, (char *)seen.si_addr == p + 16);
	return 0;
}
