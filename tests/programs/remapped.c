/* mremap with MREMAP_DONTUNMAP, and libraries that the program maps itself.  argv: a new file, an ELF file, its copy. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, ROOM = 2 * PAGE };
static void show(const char *what, const char *p)
{
	printf("%s: %d %d %d %d\n", what, p[0], p[1], p[PAGE], p[ROOM - 1]);
	fflush(stdout);
}
static void moved(const char *what, char *p)
{
	p[0] = 1;
	p[PAGE] = 2;
	char *to = (char *)syscall(SYS_mremap, p, ROOM, ROOM, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */, 0);
	if (to == MAP_FAILED) {
		printf("%s: error %d\n", what, errno);
		show("stays", p);
		return;
	}
	show(what, to);
	show("before", p);
	p[0] = 7;
	to[1] = 8;
	show("after", to);
	show("before", p);
	munmap(p, ROOM);
	to[PAGE] = 9;
	show("last", to);
}
static unsigned sum(const unsigned char *p, size_t n)
{
	unsigned s = 0;
	for (size_t i = 0; i < n; i++)
		s = s * 31 + p[i];
	return s;
}
int main(int argc, char **argv)
{
	const int rw = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), fd = memfd_create("m", 0);
	ftruncate(rw, ROOM);
	ftruncate(fd, ROOM);
	const int anonymous = MAP_ANONYMOUS, both = PROT_READ | PROT_WRITE;
	moved("private", mmap(NULL, ROOM, both, MAP_PRIVATE | anonymous, -1, 0));
	moved("shared", mmap(NULL, ROOM, both, MAP_SHARED | anonymous, -1, 0));
	moved("memfd", mmap(NULL, ROOM, both, MAP_SHARED, fd, 0));
	moved("file", mmap(NULL, ROOM, both, MAP_SHARED, rw, 0));
	moved("private file", mmap(NULL, ROOM, both, MAP_PRIVATE, rw, 0));
	const int ro = open(argv[1], O_RDONLY);
	moved("only read", mmap(NULL, ROOM, both, MAP_PRIVATE, ro, 0));
	moved("library", mmap(NULL, ROOM, both, MAP_PRIVATE, open(argv[2], O_RDONLY), 0));
	unlink(argv[1]);
	moved("without a name", mmap(NULL, ROOM, both, MAP_PRIVATE, ro, 0));

	struct stat st;
	const int elf = open(argv[2], O_RDONLY);
	fstat(elf, &st);
	char *all = malloc((size_t)st.st_size);
	if (read(elf, all, (size_t)st.st_size) != st.st_size)
		return 3;
	char *map = mmap(NULL, (size_t)st.st_size, both, MAP_PRIVATE, elf, 0);
	printf("library: %d\n", memcmp(map, all, (size_t)st.st_size));
	map[PAGE]++;
	printf("stored: %d\n", memcmp(map, all, (size_t)st.st_size) > 0);
	madvise(map + PAGE, PAGE, MADV_DONTNEED);
	printf("dropped: %d\n", memcmp(map, all, (size_t)st.st_size));
	/* its own copy, which it alters while it is mapped: pages not yet touched show that */
	const int copy = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (write(copy, all, (size_t)st.st_size) != st.st_size)
		return 4;
	char *mine = mmap(NULL, (size_t)st.st_size, both, MAP_PRIVATE, copy, 0);
	mine[0]++;
	pwrite(copy, "altered", 7, PAGE + 5);
	pwrite(copy, "altered", 7, 5);
	printf("copy: %.7s %d\n", mine + PAGE + 5, mine[5]);
	printf("sum: %08x\n", sum((unsigned char *)mine, 3 * PAGE));
	return 0;
}
