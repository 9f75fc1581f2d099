/* sigaltstack(2): SS_ONSTACK while a handler runs there, EPERM for a change then, ENOMEM for a small one. */
#include "../observe.h"
#include <signal.h>

#define SIZE 65536
static char stack[SIZE] __attribute__((aligned(16))), other[SIZE];

static void handler(int sig)
{
	char here;
	stack_t now, next = {.ss_sp = other, .ss_size = SIZE};

	printf("%d on it %d\n", sig, &here >= stack && &here < stack + SIZE);
	SAY(sigaltstack(NULL, &now));
	printf("flags %x size %zu same %d\n", (unsigned)now.ss_flags, now.ss_size, now.ss_sp == stack);
	SAY(sigaltstack(&next, NULL));
	if (sig == SIGUSR1)
		raise(SIGUSR2);
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t set = {.ss_sp = stack, .ss_size = SIZE}, old;

	SAY(sigaltstack(NULL, &old));
	printf("flags %x\n", (unsigned)old.ss_flags);
	MUST(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL));
	raise(SIGUSR2);
	SAY(sigaltstack(&set, &old));
	raise(SIGUSR1);
	set.ss_size = 100;
	SAY(sigaltstack(&set, NULL));
	set.ss_size = SIZE;
	set.ss_flags = 0x55;
	SAY(sigaltstack(&set, NULL));
	set.ss_flags = SS_ONSTACK;
	SAY(sigaltstack(&set, &old));
	printf("flags %x\n", (unsigned)old.ss_flags);
	set.ss_flags = 1 << 31; /* SS_AUTODISARM */
	SAY(sigaltstack(&set, NULL));
	raise(SIGUSR2);
	set.ss_flags = SS_DISABLE;
	SAY(sigaltstack(&set, &old));
	printf("flags %x\n", (unsigned)old.ss_flags);
	SAY(sigaltstack(NULL, &old));
	printf("flags %x\n", (unsigned)old.ss_flags);
	return 0;
}
