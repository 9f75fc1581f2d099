/* madvise(2), MADV_DONTNEED: discards what comes before locked memory, then fails; nothing behind it is touched. */
#include "../observe.h"
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 6 };

static void show(const char *p)
{
	for (int i = 0; i < PAGES; i++)
		printf("%c", p[i * PAGE] ? p[i * PAGE] : '.');
	printf("\n");
}

static void fill(char *p)
{
	for (int i = 0; i < PAGES; i++)
		memset(p + i * PAGE, 'a' + i, PAGE);
}

int main(void)
{
	char *const p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	fill(p);
	MUST(!mlock(p + 3 * PAGE, PAGE));
	SAY(madvise(p, PAGES * PAGE, MADV_DONTNEED));
	show(p);
	fill(p);
	SAY(madvise(p + PAGE, 2 * PAGE, MADV_DONTNEED));
	show(p);
	fill(p);
	SAY(madvise(p + 3 * PAGE, PAGE, MADV_DONTNEED));
	SAY(madvise(p + 2 * PAGE, 4 * PAGE, MADV_DONTNEED));
	show(p);
	fill(p);
	MUST(!munmap(p + PAGE, PAGE));
	SAY(madvise(p, PAGES * PAGE, MADV_DONTNEED));
	printf("%d%c%c%c\n", p[0], p[2 * PAGE] ? p[2 * PAGE] : '.', p[3 * PAGE], p[4 * PAGE]);
	SAY(munlock(p + 3 * PAGE, PAGE));
	SAY(madvise(p + 2 * PAGE, 4 * PAGE, MADV_DONTNEED));
	printf("%d%d\n", p[3 * PAGE], p[5 * PAGE]);
	return 0;
}
