/* What sigreturn(2) makes of the frame: the alternate stack in it (SS_AUTODISARM too), and frames that cannot be read.
 * argv: "bad" dies of one. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

enum { SIZE = 65536 };
static char first[SIZE], second[SIZE], aside[SIZE];
static ucontext_t in_main, in_aside;
static sigjmp_buf back;
static int twice;

static const char *where(const void *p)
{
	const char *at = p;
	return at >= first && at <= first + SIZE ? "first" : at >= second && at <= second + SIZE ? "second" : "none";
}

static void show(const char *what)
{
	stack_t now;
	sigaltstack(NULL, &now);
	printf("%s: %s size %zu flags %#x\n", what, where(now.ss_sp), now.ss_size, (unsigned)now.ss_flags);
}

/* Leaves the handler by another context, and comes back after a second signal. */
static void leaves(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	char mine[256];
	memset(mine, twice, sizeof(mine));
	printf("handler on %s, frame %s %#x\n", where(mine), where(uc->uc_stack.ss_sp),
	       (unsigned)uc->uc_stack.ss_flags);
	show("within");
	if (!twice++) {
		swapcontext(&in_aside, &in_main);
		printf("still %d\n", mine[0] == 0 && mine[255] == 0);
	}
}

static void replaces(int sig, siginfo_t *info, void *context)
{
	((ucontext_t *)context)->uc_stack = (stack_t){.ss_sp = second, .ss_size = SIZE};
}

static void segv(int sig, siginfo_t *info, void *context)
{
	char here;
	printf("SIGSEGV %d on %s\n", info->si_code, where(&here));
	siglongjmp(back, 1);
}

static void spoils(int sig, siginfo_t *info, void *context)
{
	((ucontext_t *)context)->uc_mcontext.fpregs = (void *)16;
}

static void elsewhere(int sig, siginfo_t *info, void *context)
{
	__asm__ volatile("movq $4096, %%rsp\n\tsyscall" : : "a"(SYS_rt_sigreturn));
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	const struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_NODEFER | flags};
	sigaction(sig, &sa, NULL);
}

static void raises(void)
{
	raise(SIGUSR1);
	puts("raised");
	setcontext(&in_main);
}

int main(int argc, char **argv)
{
	stack_t stack = {.ss_sp = first, .ss_size = SIZE, .ss_flags = (int)SS_AUTODISARM};
	setvbuf(stdout, NULL, _IONBF, 0);
	show("none");
	sigaltstack(&stack, NULL);
	show("set");
	handle(SIGUSR1, leaves, SA_ONSTACK);
	getcontext(&in_aside);
	in_aside.uc_stack = (stack_t){.ss_sp = aside, .ss_size = SIZE};
	makecontext(&in_aside, raises, 0);
	swapcontext(&in_main, &in_aside);
	show("left");
	raise(SIGUSR1);
	show("second");
	swapcontext(&in_main, &in_aside);
	show("back");
	stack.ss_flags = 0;
	sigaltstack(&stack, NULL);
	handle(SIGUSR1, replaces, 0);
	raise(SIGUSR1);
	show("replaced");
	if (argc > 1)
		signal(SIGSEGV, SIG_DFL);
	else
		handle(SIGSEGV, segv, SA_ONSTACK);
	handle(SIGUSR1, spoils, 0);
	if (!sigsetjmp(back, 1))
		raise(SIGUSR1);
	handle(SIGUSR1, elsewhere, 0);
	if (!sigsetjmp(back, 1))
		raise(SIGUSR1);
	puts("done");
	return 0;
}
