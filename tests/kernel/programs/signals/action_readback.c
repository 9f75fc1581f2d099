/* sigaction(2): the action is read back as it was set, without SIGKILL and SIGSTOP in its mask; errors are EINVAL and EFAULT. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>

struct kernel_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

static void handler(int sig)
{
	(void)sig;
}

int main(void)
{
	struct kernel_action set = {(void *)handler, 0xffffffff & ~0x04000000ul, (void *)0x1234, -1ul}, got;
	struct sigaction action = {.sa_handler = SIG_IGN};

	for (int bit = 0; bit < 32; bit++) {
		set.flags = 1ul << bit;
		MUST(!syscall(SYS_rt_sigaction, SIGUSR1, &set, NULL, 8));
		MUST(!syscall(SYS_rt_sigaction, SIGUSR1, NULL, &got, 8));
		printf("%lx -> %lx mask %lx restorer %d\n", set.flags, got.flags, got.mask,
		       got.restorer == set.restorer);
	}
	SAY(syscall(SYS_rt_sigaction, SIGKILL, &set, NULL, 8));
	SAY(syscall(SYS_rt_sigaction, SIGKILL, NULL, &got, 8));
	printf("%d %lx\n", got.handler == NULL, got.flags);
	SAY(syscall(SYS_rt_sigaction, SIGSTOP, NULL, NULL, 8));
	SAY(syscall(SYS_rt_sigaction, 0, NULL, &got, 8));
	SAY(syscall(SYS_rt_sigaction, 65, NULL, &got, 8));
	SAY(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &got, 4));
	SAY(syscall(SYS_rt_sigaction, SIGUSR1, (void *)8, &got, 8));
	SAY(syscall(SYS_rt_sigaction, SIGUSR1, NULL, (void *)8, 8));
	SAY(sigaction(32, &action, NULL));
	SAY(sigaction(33, &action, NULL));
	SAY(sigaction(SIGRTMAX, &action, NULL));
	return 0;
}
