/* A ring buffer whose page is mapped twice in a row, and a private mapping that follows it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, TURNS = 40 };

static unsigned char *ring, *other;
static unsigned long sum;

static void put(unsigned at, unsigned value)
{
	ring[at] = (unsigned char)value; /* @stored */
} /* @put */

int main(void)
{
	int fd = memfd_create("ring", 0);
	if (fd < 0 || ftruncate(fd, PAGE))
		return 1;
	ring = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mmap(ring, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(ring + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		return 1;
	other = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		const unsigned at = (turn * 600 + 7) % PAGE;
		put(turn % 2 ? at : at + PAGE, turn + 1);
		sum = sum * 31 + ring[turn % 2 ? at + PAGE : at] + other[at];
		printf("%u %lu\n", turn, sum); /* @said */
		fflush(stdout);
	}
	return 0;
}
