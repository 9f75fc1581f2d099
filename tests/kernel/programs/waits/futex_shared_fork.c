/* futex(2): in shared memory a futex without FUTEX_PRIVATE_FLAG works between processes. */
#include "../observe.h"
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t child;

	MUST(word != MAP_FAILED);
	child = fork();
	MUST(child >= 0);
	if (!child) {
		SAY(syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL));
		_exit(7);
	}
	while (syscall(SYS_futex, word, FUTEX_WAKE, 1) == 0)
		syscall(SYS_sched_yield);
	MUST(waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
	return 0;
}
