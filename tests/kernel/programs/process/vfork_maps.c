/* vfork(2): what the child does to memory is done to the parent's: new memory, protections, the heap's end. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char *made, *kept, *heap, *large;

static void child(void)
{
	made = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(made + 4096, "the child's");
	mprotect(made, 4096, PROT_NONE);
	mprotect(kept, 4096, PROT_READ);
	munmap(kept + 4096, 4096);
	heap = sbrk(3 * 4096);
	strcpy(heap + 5000, "heap");
	large = malloc(1 << 20);
	strcpy(large + 600000, "large");
	_exit(3);
}

int main(void)
{
	unsigned char resident;
	int status, ends[2];

	kept = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(kept != MAP_FAILED && !pipe(ends));
	strcpy(kept, "before");
	const pid_t pid = vfork();
	MUST(pid >= 0);
	if (!pid)
		child();
	MUST(waitpid(pid, &status, 0) == pid);
	printf("%d %s %s %s\n", WEXITSTATUS(status), made + 4096, heap + 5000, large + 600000);
	SAY(write(ends[1], made, 1));
	SAY(write(ends[1], kept, 1));
	SAY(read(ends[0], kept, 1));
	SAY(mincore(kept, 4096, &resident));
	SAY(mincore(kept + 4096, 4096, &resident));
	printf("heap: %d\n", (char *)sbrk(0) == heap + 3 * 4096);
	char *const more = sbrk(4096);
	memset(more, 'm', 4096);
	printf("%d %s\n", more == heap + 3 * 4096, heap + 5000);
	for (int i = 0; i < 4; i++) { /* new memory lies elsewhere */
		char *const p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(p != MAP_FAILED);
		*p = 'x';
	}
	printf("%s %s\n", made + 4096, large + 600000);
	free(large);
	return 0;
}
