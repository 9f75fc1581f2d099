/* rt_sigqueueinfo(2): a program may send itself any siginfo, and others only codes below zero but not SI_TKILL. */
#include "../observe.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d code %d pid %d uid %d int %d\n", sig, info->si_code, info->si_pid, info->si_uid,
	       info->si_value.sival_int);
	fflush(stdout);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	siginfo_t info = {.si_signo = 99, .si_code = SI_QUEUE};
	pid_t child;
	int status;

	info.si_pid = 1234;
	info.si_uid = 5678;
	info.si_value.sival_int = -9;
	MUST(!sigaction(SIGUSR2, &action, NULL));
	SAY(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR2, &info));
	info.si_code = SI_USER;
	SAY(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR2, &info));
	info.si_code = SI_KERNEL;
	SAY(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR2, &info));
	info.si_code = SI_ASYNCNL;
	SAY(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR2, &info));
	child = fork();
	MUST(child >= 0);
	if (!child) {
		info.si_code = SI_USER;
		SAY(syscall(SYS_rt_sigqueueinfo, getppid(), SIGUSR2, &info));
		info.si_code = SI_TKILL;
		SAY(syscall(SYS_rt_sigqueueinfo, getppid(), SIGUSR2, &info));
		info.si_code = SI_MESGQ;
		info.si_value.sival_int = 5;
		SAY(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR2, &info));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
	return 0;
}
