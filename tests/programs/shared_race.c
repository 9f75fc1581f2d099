/* Spins, for a bounded number of turns and without a system call, on memory that a child writes. */
#include "calls.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	volatile int *flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(flag != MAP_FAILED);
	pid_t pid = fork();
	if (!pid) {
		while (!flag[1])
			sched_yield();
		*flag = 1;
		_exit(0);
	}
	flag[1] = 1; /* not before: what the child writes before the spinning begins is no race */
	long turns = 0;
	while (!*flag && turns < 3000000000l)
		turns++;
	puts(*flag ? "seen" : "not seen");
	NEED(waitpid(pid, NULL, 0) == pid);
}
