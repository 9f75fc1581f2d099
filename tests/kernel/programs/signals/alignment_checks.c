/* sigaction(2): SIGBUS, BUS_ADRALN, where a program has turned on checks of alignment; calls and signals keep them on. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>

enum { AC = 1 << 18 };
static volatile sig_atomic_t signals, code;
static _Alignas(8) char words[16];

#ifdef __x86_64__
static unsigned long flags(void)
{
	unsigned long now;

	__asm__ volatile("pushfq; popq %0" : "=r"(now)::"memory");
	return now;
}

static void set(unsigned long wanted)
{
	__asm__ volatile("pushq %0; popfq" ::"r"(wanted) : "memory", "cc");
}

static long raw(long number, long a, long b)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return result;
}

static void seen(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	signals++;
	code = info->si_code;
	set(flags() & ~(unsigned long)AC);
	if (info->si_signo == SIGBUS)
		uc->uc_mcontext.gregs[REG_EFL] &= ~AC;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = seen, .sa_flags = SA_SIGINFO};
	const long self = getpid(), first = getppid(); /* bound now: the dynamic linker's words are not aligned */
	long parent, sent;
	unsigned long after, wrong;

	MUST(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGBUS, &action, NULL));
	set(flags() | AC);
	parent = raw(SYS_getppid, 0, 0);
	sent = raw(SYS_kill, self, SIGUSR1);
	after = flags();
	set(after & ~(unsigned long)AC);
	printf("%d %ld %d %d\n", parent == first, sent, signals, !!(after & AC));
	set(flags() | AC);
	parent = getppid();
	after = flags();
	set(after & ~(unsigned long)AC);
	printf("%d %d\n", parent == first, !!(after & AC));
	set(flags() | AC);
	__asm__ volatile("movq 1(%1), %0" : "=r"(wrong) : "r"(words) : "memory");
	after = flags();
	printf("%lu %d %d %d\n", wrong, signals, code == BUS_ADRALN, !!(after & AC));
	return 0;
}
#else
int main(void)
{
	skip("a processor with checks of alignment that a program turns on");
}
#endif
