/* madvise(2): MADV_WIPEONFORK memory is zero in a child, until MADV_KEEPONFORK; EINVAL for shared memory. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/wait.h>

static char *wiped;

static void child(void)
{
	pid_t pid = fork();

	if (!pid) {
		printf("'%s'\n", wiped);
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	printf("'%s'\n", wiped);
	fflush(stdout);
}

int main(void)
{
	char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	wiped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(wiped, "wiped");
	SAY(madvise(shared, 4096, MADV_WIPEONFORK));
	SAY(madvise(wiped, 4096, MADV_WIPEONFORK));
	child();
	SAY(madvise(wiped, 4096, MADV_KEEPONFORK));
	child();
	return 0;
}
