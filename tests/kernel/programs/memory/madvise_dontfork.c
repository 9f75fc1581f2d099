/* madvise(2): MADV_DONTFORK memory is not there in a child of fork, until MADV_DOFORK; a child of vfork has it, and what is to be wiped, too. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/wait.h>

static char *memory, *moved, *wiped;

static void look(const char *what)
{
	unsigned char there;

	printf("%s: %s %s %s\n", what, mincore(memory, 4096, &there) ? "gone" : memory,
	       mincore(moved, 4096, &there) ? "gone" : moved, wiped);
	fflush(stdout);
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid) {
		look("child");
		pid_t next = fork();
		if (!next) {
			look("its child");
			_exit(0);
		}
		MUST(waitpid(next, NULL, 0) == next);
		_exit(0);
	}
	MUST(waitpid(pid, NULL, 0) == pid);
}

int main(void)
{
	char *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *gap = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	wiped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED && gap != MAP_FAILED && memory != MAP_FAILED && moved != MAP_FAILED);
	MUST(!munmap(gap + 4096, 4096));
	strcpy(memory, "here");
	strcpy(moved, "moved");
	strcpy(wiped, "wiped");
	SAY(madvise(memory, 4096, MADV_DONTFORK));
	SAY(madvise(moved, 4096, MADV_DONTFORK));
	SAY(madvise(wiped, 4096, MADV_WIPEONFORK));
	SAY(madvise(gap, 3 * 4096, MADV_DONTFORK));
	SAY(madvise(gap, 3 * 4096, MADV_DOFORK));
	SAY(madvise(gap, 3 * 4096, MADV_KEEPONFORK));
	moved = mremap(moved, 4096, 8192, MREMAP_MAYMOVE);
	MUST(moved != MAP_FAILED);
	child();
	pid_t pid = vfork();
	if (!pid) {
		unsigned char there;
		_exit(mincore(memory, 4096, &there) || strcmp(wiped, "wiped"));
	}
	int status;
	MUST(waitpid(pid, &status, 0) == pid);
	SAY(status);
	SAY(madvise(memory, 4096, MADV_DOFORK));
	child();

	/* what can be freed lazily */
	SAY(madvise(shared, 4096, MADV_FREE));
	SAY(madvise(shared, 4096, MADV_DONTFORK));
	SAY(madvise(gap, 3 * 4096, MADV_FREE));
	SAY(madvise(gap + 4096, 4096, MADV_FREE));
	SAY(madvise((void *)((unsigned long)&main & -4096ul), 4096, MADV_FREE));
	SAY(madvise((void *)((unsigned long)&main & -4096ul), 4096, MADV_WIPEONFORK));
	return 0;
}
