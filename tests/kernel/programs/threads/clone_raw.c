/* clone(2): a raw thread with a stack, thread pointer area and tid words: CLONE_PARENT_SETTID, CLONE_CHILD_CLEARTID wakes a futex. */
#include "../observe.h"
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int32_t parent_word, child_word = -1;
static int seen;

static int runs(void *arg)
{
	seen = *(int *)arg + 1;
	return 5;
}

static int process(void *arg)
{
	(void)arg;
	_exit(child_word == (int32_t)syscall(SYS_getpid) ? 6 : 7);
}

int main(void)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int number = 41, status, tid;

	MUST(stack != MAP_FAILED);
	tid = clone(runs, stack + 65536,
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		    &number, &parent_word, NULL, &child_word);
	MUST(tid > 0);
	while (__atomic_load_n(&child_word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &child_word, FUTEX_WAIT, -1, NULL);
	printf("same %d seen %d child word %d\n", tid == parent_word, seen, child_word);
	pid_t child = clone(process, stack + 65536, CLONE_CHILD_SETTID | SIGCHLD, NULL, NULL, NULL, &child_word);
	MUST(child > 0 && waitpid(child, &status, 0) == child);
	printf("status %x word %d\n", status, child_word);
	SAY(clone(runs, stack + 65536, CLONE_THREAD | SIGCHLD, NULL));
	SAY(clone(runs, stack + 65536, CLONE_SIGHAND | SIGCHLD, NULL));
	return 0;
}
