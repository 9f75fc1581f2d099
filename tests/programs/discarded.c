/* Gives memory back in one call: a reservation of 8 TiB, in the middle of which are a private file mapping and shared
 * memory (argv[1]: the file). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (8ul << 40)
enum { PAGE = 4096 };

static const char *said(const char *at)
{
	return *at ? at : "nothing";
}

int main(int argc, char **argv)
{
	const int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0666);
	const int rw = PROT_READ | PROT_WRITE;
	char *all = mmap((void *)0x600000000000, SIZE, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *file = all + SIZE / 4, *shared = all + SIZE / 2, *end = all + SIZE - PAGE;
	if (fd < 0 || all == MAP_FAILED || write(fd, "the file", 9) != 9 || ftruncate(fd, PAGE) ||
	    mmap(file, PAGE, rw, MAP_PRIVATE | MAP_FIXED, fd, 0) != file ||
	    mmap(shared, 2 * PAGE, rw, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != shared)
		return 1;
	char *const places[] = {all, file - PAGE, file, file + PAGE, shared - PAGE, shared, shared + 2 * PAGE, end};
	const int n = sizeof(places) / sizeof(places[0]);
	for (int i = 0; i < n; i++)
		strcpy(places[i], "stored");
	if (madvise(all, SIZE, MADV_DONTNEED))
		return 2;
	for (int i = 0; i < n; i++)
		printf("%d: %s\n", i, said(places[i]));
	strcpy(shared + PAGE, "more");
	if (madvise(shared + PAGE, PAGE, MADV_REMOVE))
		return 3;
	printf("%s, %s\n", said(shared), said(shared + PAGE));
	return 0;
}
