/* seccomp(2): filters add up, the most severe answer prevails; a child and an executed program keep them. */
#include "../observe.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void filter(unsigned nr, unsigned ret)
{
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
				     BPF_STMT(BPF_RET | BPF_K, ret), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {4, code};
	SAY(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

int main(int argc, char **argv)
{
	int how;

	if (argc > 1) {
		SAY(syscall(SYS_getppid));
		return 0;
	}
	MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	filter(SYS_getppid, SECCOMP_RET_ERRNO | EBUSY);
	SAY(syscall(SYS_getppid));
	filter(SYS_getppid, SECCOMP_RET_ALLOW);
	SAY(syscall(SYS_getppid));
	filter(SYS_getsid, SECCOMP_RET_KILL_PROCESS);
	pid_t pid = fork();
	if (!pid)
		_exit((int)syscall(SYS_getsid, 0));
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WIFSIGNALED(how) ? WTERMSIG(how) : 0);
	fflush(stdout);
	execl(argv[0], argv[0], "again", NULL);
	return 1;
}
