/* feenableexcept(3): floating-point exceptions that are enabled raise SIGFPE with the code of their kind. */
#include "../observe.h"
#include <fenv.h>
#include <xmmintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static sigjmp_buf back;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	printf("signal %d code %d mxcsr flags %x\n", sig, info->si_code, u->uc_mcontext.fpregs->mxcsr & 0x3f);
	siglongjmp(back, 1);
}

static void try(int what, double a, double b)
{
	volatile double x = a, y = b, z;

	_mm_setcsr(0x1f80u & ~((unsigned)what << 7));
	if (!sigsetjmp(back, 1)) {
		z = what == FE_OVERFLOW || what == FE_INEXACT ? x * y : x / y;
		printf("no signal: %g\n", z);
	}
	_mm_setcsr(0x1f80);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	MUST(!sigaction(SIGFPE, &action, NULL));
	try(FE_DIVBYZERO, 1, 0);
	try(FE_INVALID, 0, 0);
	try(FE_OVERFLOW, 1e300, 1e300);
	try(FE_UNDERFLOW, 1e-300, 1e300);
	try(FE_INEXACT, 0.1, 0.1);
	try(FE_DIVBYZERO, 1, 2);
	return 0;
}
