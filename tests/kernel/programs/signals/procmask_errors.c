/* sigprocmask(2): how is one of three; the set is read before the old one is written; SIGKILL cannot be blocked. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>

int main(void)
{
	unsigned long set = -1ul, old = 0;

	SAY(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &old, 8));
	SAY(syscall(SYS_rt_sigprocmask, 77, NULL, &old, 8));
	printf("%lx\n", old);
	SAY(syscall(SYS_rt_sigprocmask, 77, &set, &old, 8));
	set = 0xff;
	SAY(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, &set, 8));
	printf("%lx\n", set);
	SAY(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, (void *)8, 8));
	SAY(syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &old, 8));
	printf("%lx\n", old);
	SAY(syscall(SYS_rt_sigprocmask, SIG_SETMASK, (void *)8, &old, 8));
	SAY(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, NULL, 16));
	set = 0;
	SAY(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, NULL, 8));
	set = 1ul << (SIGUSR1 - 1);
	SAY(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8));
	raise(SIGUSR1);
	SAY(syscall(SYS_rt_sigpending, &old, 8));
	printf("%lx\n", old);
	SAY(syscall(SYS_rt_sigpending, (void *)8, 8));
	SAY(syscall(SYS_rt_sigpending, &old, 9));
	old = -1ul;
	SAY(syscall(SYS_rt_sigpending, &old, 4));
	printf("%lx\n", old);
	return 0;
}
