/* getrlimit(2): the stack grows by itself up to RLIMIT_STACK; behind it SIGSEGV, which only an alternate stack can handle. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

static sigjmp_buf back;
static siginfo_t seen;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	seen = *info;
	siglongjmp(back, 1);
}

static unsigned long deeper(unsigned long n)
{
	volatile char room[4096];

	room[0] = (char)n;
	return n ? deeper(n - 1) + (unsigned char)room[0] : 0;
}

int main(void)
{
	static char alt[65536];
	const stack_t stack = {.ss_sp = alt, .ss_size = sizeof(alt)};
	struct sigaction how = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct rlimit limit;

	MUST(!sigaltstack(&stack, NULL) && !sigaction(SIGSEGV, &how, NULL));
	MUST(!getrlimit(RLIMIT_STACK, &limit));
	limit.rlim_cur = 2 << 20;
	SAY(setrlimit(RLIMIT_STACK, &limit));
	printf("%lu\n", deeper(300));
	if (!sigsetjmp(back, 1))
		printf("%lu\n", deeper(10000));
	printf("%d %d\n", seen.si_signo, seen.si_code > 0);
	printf("%lu\n", deeper(300));
	return 0;
}
