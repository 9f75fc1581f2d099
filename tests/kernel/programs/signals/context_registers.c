/* getcontext(3): a handler may change the registers of its ucontext, and the program goes on with these. */
#include "../observe.h"
#include <signal.h>
#include <ucontext.h>

static volatile int handled;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	handled++;
	u->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
	u->uc_mcontext.gregs[REG_RAX] = 42;
	u->uc_mcontext.gregs[REG_R12] += 1000;
	u->uc_mcontext.gregs[REG_EFL] |= 1; /* carry */
	u->uc_mcontext.fpregs->_xmm[3].element[0] = 7;
	sigaddset(&u->uc_sigmask, SIGUSR2);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	long rax = 1, r12 = 5;
	unsigned char carry;
	unsigned xmm;
	sigset_t now;

	MUST(!sigaction(SIGILL, &action, NULL));
	__asm__ volatile("mov %4, %%r12\n\tpxor %%xmm3, %%xmm3\n\tclc\n\tud2\n\tsetc %2\n\tmov %%r12, %1\n\t"
			 "movd %%xmm3, %3\n\t"
			 : "+a"(rax), "=&r"(r12), "=&q"(carry), "=&r"(xmm)
			 : "r"(r12)
			 : "r12", "xmm3", "cc");
	printf("rax %ld r12 %ld carry %d xmm %u handled %d\n", rax, r12, carry, xmm, handled);
	MUST(!sigprocmask(SIG_BLOCK, NULL, &now));
	printf("blocked %d %d\n", sigismember(&now, SIGUSR2), sigismember(&now, SIGUSR1));
	return 0;
}
