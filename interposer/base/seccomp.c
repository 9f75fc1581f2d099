#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interface/layout.h"
#include "base/seccomp.h"

static struct {
	bool in_use, installed, left;
} state;

void seccomp_use(bool inherited)
{
	state.in_use = true;
	state.installed = inherited;
}

bool seccomp_in_use(void)
{
	return state.in_use;
}

/* seccomp(2).  The kernel hands the registers to the handler as they were (syscall_rollback in
 * kernel/seccomp.c), which is what Syscall User Dispatch does. */
static int install(void)
{
	_Static_assert((RDB_ARENA_END & 0xffffffff) == 0, "whose code it is must follow from the high half alone");
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, RDB_ARENA_END >> 32, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(*code), .filter = code};
	/* SPEC_ALLOW: nothing is guarded here, so no speculation needs to be switched off for it */
	const long flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog) == 0)
		return 0;
	if (errno != EACCES)
		return -errno;
	/* without CAP_SYS_ADMIN a process must first set no_new_privs */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog))
		return -errno;
	return 0;
}

int seccomp_on(void)
{
	int rc = state.installed ? 0 : install();
	state.installed = rc == 0;
	return rc;
}

void seccomp_leave(void)
{
	state.left = state.in_use;
}

bool seccomp_left(void)
{
	return state.left;
}

bool seccomp_possible(void)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(install() ? 1 : 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
