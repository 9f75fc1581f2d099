/* mmap(2): MAP_SHARED | MAP_ANONYMOUS memory is one for parent and child, MAP_PRIVATE is copied at the first store. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(shared != MAP_FAILED && own != MAP_FAILED);
	*shared = *own = 1;
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (!pid) {
			*shared += 10;
			*own += 10;
			MUST(!munmap(shared, 4096));
			_exit(*own);
		}
		int how;
		MUST(waitpid(pid, &how, 0) == pid);
		printf("%d %d %d\n", WEXITSTATUS(how), *shared, *own);
		fflush(stdout);
	}
	return 0;
}
