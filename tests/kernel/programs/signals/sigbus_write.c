/* sigaction(2): a handler of SIGSEGV may make the page accessible, and the instruction is carried out again. */
#include "../observe.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

static char *base;
static int faults;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	long offset = (char *)info->si_addr - base;

	printf("signal %d page %ld write %lld trap %lld\n", sig, offset / 4096, u->uc_mcontext.gregs[REG_ERR] >> 1 & 1,
	       u->uc_mcontext.gregs[REG_TRAPNO]);
	faults++;
	MUST(!mprotect(base + (offset & -4096), 4096,
		       u->uc_mcontext.gregs[REG_ERR] & 2 ? PROT_READ | PROT_WRITE : PROT_READ));
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	long sum = 0;

	base = mmap(NULL, 16 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(base != MAP_FAILED && !sigaction(SIGSEGV, &action, NULL));
	for (int i = 0; i < 4; i++) {
		sum += ((volatile char *)base)[i * 4096 + 8];
		((volatile char *)base)[i * 4096 + 9] = (char)i;
	}
	memset(base + 5 * 4096 + 100, 7, 8192);
	printf("faults %d sum %ld\n", faults, sum);
	SAY(write(1, base + 9 * 4096, 5) == -1 && errno == EFAULT);
	return 0;
}
