/* What /proc/self/maps says of mappings that go beyond the end of their file.  argv: a new file. */
#include "calls.h"
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 6 };

static void show(const char *what, const char *from)
{
	unsigned long start, end, offset, at = (unsigned long)from;
	char line[512], prot[8], path[256];
	FILE *f = fopen("/proc/self/maps", "r");
	NEED(f);
	printf("%s:", what);
	while (fgets(line, sizeof(line), f)) {
		*path = 0;
		NEED(sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, prot, &offset, path) >= 4);
		if (start >= at && end <= at + PAGES * PAGE)
			printf(" %lu-%lu %s %lx %s", (start - at) / PAGE, (end - at) / PAGE, prot, offset,
			       *path ? strrchr(path, '/') : "");
	}
	printf("\n");
	fclose(f);
}

int main(int argc, char **argv)
{
	NEED(argc == 2);
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), ro = open(argv[1], O_RDONLY);
	NEED(fd >= 0 && ro >= 0 && write(fd, argv[1], 1) == 1);
	NEED(lseek(fd, 2 * PAGE + 7, SEEK_SET) > 0 && write(fd, "x", 1) == 1);
	close(fd);
	/* holes on both sides, so that nothing is merged with it */
	char *room = mmap(NULL, (PAGES + 2) * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(room != MAP_FAILED);
	char *p = room + PAGE;
	for (int shared = 0; shared < 2; shared++) {
		const int kind = shared ? MAP_SHARED : MAP_PRIVATE, prot = shared ? PROT_READ : PROT_READ | PROT_WRITE;
		NEED(mmap(p, PAGES * PAGE, prot, kind | MAP_FIXED, ro, 0) == p);
		show("whole", p);
		NEED(mprotect(p + 4 * PAGE, PAGE, PROT_NONE) == 0);
		show("none", p);
		NEED(mprotect(p, PAGES * PAGE, PROT_READ) == 0);
		show("read", p);
		NEED(munmap(p + 4 * PAGE, PAGE) == 0);
		show("hole", p);
		NEED(mmap(p + 4 * PAGE, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		     MAP_FAILED);
		show("beside", p);
	}
	return 0;
}
