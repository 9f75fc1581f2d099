/* Steps through itself: the trap flag, and a handler for SIGTRAP. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>

static volatile long steps;

static void step(int sig)
{
	(void)sig;
	steps++;
}

int main(void)
{
	if (signal(SIGTRAP, step) == SIG_ERR)
		return 1;
	puts("before");
	fflush(stdout);
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tnop\n\tnop\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::
				 : "cc", "memory");
	printf("%ld steps\n", steps);
	return 0;
}
