/* proc_pid_smaps(5): sizes of a mapping, private pages that were written, and what is locked. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

static void show(const char *memory)
{
	char line[512];
	unsigned long from, to;
	int in = 0;
	FILE *file = fopen("/proc/self/smaps", "r");

	MUST(file);
	while (fgets(line, sizeof line, file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			in = from <= (unsigned long)memory && (unsigned long)memory < to;
		else if (in &&
			 (!strncmp(line, "Size:", 5) || !strncmp(line, "Rss:", 4) || !strncmp(line, "Anonymous:", 10)))
			printf("%s", line);
	}
	fclose(file);
}

int main(void)
{
	char *memory = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory != MAP_FAILED && !madvise(memory, 64 * 4096, MADV_NOHUGEPAGE));
	/* neighbours of another protection keep it a mapping of its own */
	MUST(!mprotect(memory, 4096, PROT_NONE) && !mprotect(memory + 63 * 4096, 4096, PROT_NONE));
	memory += 4096;
	show(memory);
	memory[0] = memory[4096] = memory[10 * 4096] = 1;
	show(memory);
	MUST(!madvise(memory, 4096, MADV_DONTNEED));
	show(memory);
	return 0;
}
