/* sigaction(2): a jump to an address where nothing is mapped raises SIGSEGV there, wherever that is. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <ucontext.h>

static sigjmp_buf back;
static siginfo_t seen;
static uint64_t there, wanted;

#ifdef __x86_64__
static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	there = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	seen = *info;
	siglongjmp(back, 1);
}

static void leads_there(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (long long)wanted;
}

static void show(const char *how)
{
	const char *code = seen.si_code == SEGV_MAPERR ? "MAPERR" : seen.si_code == SI_KERNEL ? "KERNEL" : "other";

	printf("%s %#lx: %s %p, at it %d\n", how, wanted, code, seen.si_addr, there == wanted);
}

int main(void)
{
	static const uint64_t places[] = {
		0x10, 0x4141414141, 0x414141414141, 0x5a5a5a5a5a5a, 0x7ffffffff000, 0xffff800000000000,
	};
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO},
			 lead = {.sa_sigaction = leads_there, .sa_flags = SA_SIGINFO};

	MUST(!sigaction(SIGSEGV, &fault, NULL) && !sigaction(SIGUSR1, &lead, NULL));
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int status;
		pid_t child;

		wanted = places[i];
		if (!sigsetjmp(back, 1))
			((void (*)(void))wanted)();
		show("called");
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
		show("returned to");
		fflush(stdout);
		MUST((child = fork()) >= 0);
		if (!child) {
			signal(SIGSEGV, SIG_DFL);
			((void (*)(void))wanted)();
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("ends with %d\n", WTERMSIG(status));
	}
	return 0;
}
#else
int main(void)
{
	skip("the program counter in a context, by this name");
}
#endif
