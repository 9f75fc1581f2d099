/* Faults again and again.  The handler jumps out, without a system call ("jump"), or goes on behind the
 * instruction ("return"). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static jmp_buf out;
static volatile int rounds, handled, jumps;
static int behind; /* bytes from where the fault is told to the next instruction */
static char *constant;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	handled++; /* @handler */
	if (jumps)
		longjmp(out, sig);
	uc->uc_mcontext.gregs[REG_RIP] += behind;
}

static void fault(const char *way)
{
	if (!strcmp(way, "divide"))
		__asm__ volatile("idivl %0" ::"r"(0), "a"(5), "d"(0)); /* @divide */
	else if (!strcmp(way, "load"))
		__asm__ volatile("movl (%0), %%eax" ::"c"(8L) : "eax"); /* @load */
	else if (!strcmp(way, "store"))
		__asm__ volatile("movb %%al, (%0)" ::"c"(constant)); /* @store */
	else if (!strcmp(way, "general"))
		__asm__ volatile("movl (%0), %%eax" ::"c"(1L << 62) : "eax"); /* @general */
	else if (!strcmp(way, "illegal"))
		__asm__ volatile("ud2"); /* @illegal */
	else if (!strcmp(way, "trap"))
		__asm__ volatile("int3"); /* @trap */
}

int main(int argc, char **argv)
{
	static const int signals[] = {SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], &sa, NULL))
			return 2;
	constant = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	behind = strcmp(argv[1], "trap") ? 2 : 0;
	jumps = !strcmp(argv[2], "jump");
	getppid();
	for (rounds = 1; rounds <= ROUNDS; rounds++)
		if (!setjmp(out))
			fault(argv[1]);
	printf("%d\n", handled);
	return 0;
}
