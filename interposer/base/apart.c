#include "base/apart.h"
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "base/lower.h"

enum { STACK = 256 << 10 };

struct box {
	long (*work)(void *);
	void *arg;
	long result;
};

static bool needed;

void apart_needed(void)
{
	__atomic_store_n(&needed, true, __ATOMIC_RELAXED);
}

static int run(void *p)
{
	struct box *box = p;
	box->result = box->work(box->arg);
	raw_syscall(SYS_exit, 0, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

long apart(long (*work)(void *), void *arg)
{
	struct box box = {.work = work, .arg = arg, .result = -EIO};
	sigset_t before;
	int status;
	if (!__atomic_load_n(&needed, __ATOMIC_RELAXED))
		return work(arg);
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return -errno;
	lower_block_signals(&before);
	/* no exit signal: the program's wait(2) does not see it */
	const long pid = clone(run, stack + STACK, CLONE_VM | CLONE_VFORK, &box);
	const long rc = pid < 0 ? -errno : 0;
	while (pid > 0 && raw_syscall(SYS_wait4, pid, (long)&status, __WALL, 0, 0, 0) == -EINTR)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	munmap(stack, STACK);
	return rc ? rc : box.result;
}
