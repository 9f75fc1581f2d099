/* proc_pid_maps(5): the line of a mapped file has its protection, offset, path, and " (deleted)" when it is. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

static void show(const void *memory)
{
	char line[512], protection[8], path[300] = "";
	unsigned long from, to, offset;
	FILE *maps = fopen("/proc/self/maps", "r");

	MUST(maps);
	while (fgets(line, sizeof line, maps)) {
		*path = 0;
		MUST(sscanf(line, "%lx-%lx %7s %lx %*s %*s %299[^\n]", &from, &to, protection, &offset, path) >= 4);
		if (from <= (unsigned long)memory && (unsigned long)memory < to)
			printf("%ld pages, %s, offset %lx, path %s\n", (long)(to - from) / 4096, protection, offset,
			       *path == '/' ? strrchr(path, '/') : path);
	}
	fclose(maps);
}

int main(void)
{
	char *shared, *private, *memory;
	int fd;

	MUST((fd = open("a file", O_CREAT | O_RDWR, 0600)) >= 0 && !ftruncate(fd, 8 * 4096));
	shared = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 2 * 4096);
	private = mmap(NULL, 2 * 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
	MUST(shared != MAP_FAILED && private != MAP_FAILED);
	show(shared);
	show(private);
	MUST(!mprotect(shared + 4096, 4096, PROT_NONE));
	show(shared);
	show(shared + 4096);
	show(shared + 2 * 4096);
	MUST(!rename("a file", "another"));
	show(shared);
	MUST(!unlink("another"));
	show(shared);
	show(private);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	show(memory);
	MUST((fd = memfd_create("named", 0)) >= 0 && !ftruncate(fd, 4096));
	memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	show(memory);
	return 0;
}
