/* getrlimit(2), RLIMIT_STACK: a limit that is raised lets the stack grow further at once, one that is lowered stops it; what it has grown to stays. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static unsigned long deeper(unsigned long n)
{
	volatile char room[65536];

	memset((char *)room, (int)n + 1, sizeof(room));
	return n ? deeper(n - 1) + (unsigned char)room[0] : 0;
}

static void set(rlim_t to)
{
	struct rlimit limit;

	MUST(!getrlimit(RLIMIT_STACK, &limit));
	limit.rlim_cur = to;
	SAY(setrlimit(RLIMIT_STACK, &limit));
}

/* MIB deep, or less */
static void try(unsigned mib)
{
	const int sig = sigsetjmp(back, 1);

	if (sig)
		printf("%u MiB: signal %d\n", mib, sig);
	else
		printf("%u MiB: %lu\n", mib, deeper(mib * 15));
}

int main(void)
{
	static char alt[65536];
	const stack_t stack = {.ss_sp = alt, .ss_size = sizeof(alt)};
	struct sigaction how = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};

	MUST(!sigaltstack(&stack, NULL) && !sigaction(SIGSEGV, &how, NULL));
	set(2 << 20);
	try(1);
	try(3);
	set(16 << 20);
	try(3);
	try(12);
	set(4 << 20);
	try(12);
	try(20);
	set(RLIM_INFINITY);
	try(40);
	return 0;
}
