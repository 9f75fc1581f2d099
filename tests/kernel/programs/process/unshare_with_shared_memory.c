/* unshare(2), CLONE_NEWUSER: a process that has one thread may, also one that shares memory with others. */
#include "../observe.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	volatile int *box = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int how;

	MUST(box != MAP_FAILED);
	for (int i = 0; i < 3; i++) {
		const pid_t pid = fork();

		if (!pid) {
			while (*box != i)
				;
			SAY(unshare(CLONE_NEWUSER));
			fflush(stdout);
			*box = i + 1;
			while (*box != 4)
				;
			_exit(*box + i);
		}
	}
	while (*box != 3)
		;
	*box = 4;
	for (int i = 0; i < 3; i++)
		MUST(wait(&how) > 0);
	printf("%d\n", *box);
	return 0;
}
