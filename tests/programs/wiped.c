/* MADV_WIPEONFORK and its kin (madvise(2)) on more than 64 ranges, on parts of them, on what is mapped there later and on
 * what moves.  Prints what each call says and which pages a child has. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 320 };
static char *area;

static int advise(char *at, int pages, int what)
{
	return madvise(at, (size_t)pages * PAGE, what) ? errno : 0;
}

static char *map(char *at, int pages, int flags, int fd)
{
	char *p = mmap(at, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, flags | (at ? MAP_FIXED : 0), fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static void show(const char *what, const char *at, int pages)
{
	fflush(stdout);
	if (!fork()) {
		printf("%s ", what);
		for (int i = 0; i < pages; i++)
			putchar(at[i * PAGE] ? 'x' : '.');
		putchar('\n');
		exit(0);
	}
	wait(NULL);
}

/* The heap is taken back and given again. */
static void heap(void)
{
	printf("heap ");
	char *at = (char *)(((unsigned long)sbrk(3 * PAGE) + PAGE - 1) & -PAGE);
	printf("%d ", advise(at, 2, MADV_WIPEONFORK));
	const int rc = brk(at) || brk(at + 2 * PAGE);
	memset(at, 1, 2 * PAGE);
	printf("%d\n", rc);
	show("heap", at, 2);
}

int main(void)
{
	heap();
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	area = map(NULL, PAGES, anonymous, -1);
	for (int i = 0; i < PAGES; i++)
		area[i * PAGE] = 1;
	int wrong = 0;
	for (int i = 0; i < 100; i++)
		wrong += advise(area + i * 3 * PAGE, 2, MADV_WIPEONFORK) != 0;
	printf("%d\n", wrong);
	show("ranges", area, PAGES);
	printf("%d\n", advise(area + PAGE, 10, MADV_KEEPONFORK));
	show("parts", area, 20);
	printf("%d\n", advise(area, 20, MADV_WIPEONFORK));
	munmap(area + 5 * PAGE, 5 * PAGE);
	map(area + 5 * PAGE, 4, anonymous, -1);
	map(area + 12 * PAGE, 2, anonymous, -1);
	for (int i = 0; i < 20; i++)
		if (i != 9)
			area[i * PAGE] = 1;
	map(area + 9 * PAGE, 1, anonymous, -1)[0] = 1;
	show("mapped again", area, 20);
	char *moved = mremap(area + 14 * PAGE, 3 * PAGE, 30 * PAGE, MREMAP_MAYMOVE);
	memset(moved, 1, 30 * PAGE);
	show("moved", moved, 30);
	munmap(area + 18 * PAGE, PAGE);
	printf("%d", advise(area + 17 * PAGE, 4, MADV_WIPEONFORK));
	printf(" %d", advise(map(NULL, 2, MAP_SHARED | MAP_ANONYMOUS, -1), 2, MADV_WIPEONFORK));
	printf(" %d\n", advise(map(NULL, 1, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY)), 1, MADV_WIPEONFORK));
	show("a gap", area + 19 * PAGE, 4);
	return 0;
}
