/* Variables that are 500 between two of 300 calls only; one of them is 100 at first, too.  `brief` is 9 at no call;
 * `often` is 4999 for one of thousands of changes; `page` is unmapped at the end. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static long value, early = 100, brief, often, both, *page;

static long step(int turn)
{
	long inner = turn;
	getppid();
	if (turn == 77)
		inner = value = early = 500;
	getppid();
	value = turn;
	if (turn > 3)
		early = turn % 90;
	if (turn == 50 || turn == 60)
		brief = 9;
	brief = turn > 100;
	for (both = 0; both < 20; both++)
		often = turn == 90 && both == 7 ? 4999 : both; /* @often */
	return inner;
}

int main(void)
{
	long sum = 0;
	page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[0] = 3;
	for (int turn = 0; turn < 150; turn++)
		sum += step(turn);
	printf("%ld\n", sum);
	munmap(page, 4096);
	getppid();
	return 0;
}
