/* Writes to parts of a file of which there are large mappings, shared and private, at several places; stores there between
 * two writes, also what the next one writes over, and what it writes from.  argv: a new file.  Prints a sum of what is
 * seen. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 3 << 20, SKIPPED = 300 << 10, MOST = 150000, ROUNDS = 120 };

static unsigned long random_below(unsigned long n)
{
	static unsigned long x = 1;
	x = x * 6364136223846793005ul + 1442695040888963407ul;
	return (x >> 20) % n;
}

static unsigned char *map(int fd, int flags, long offset)
{
	void *p = mmap(NULL, (size_t)(SIZE - offset), PROT_READ | PROT_WRITE, flags, fd, offset);
	if (p == MAP_FAILED)
		exit(2);
	return p;
}

int main(int argc, char **argv)
{
	static unsigned char text[MOST];
	const int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, SIZE))
		return 1;
	const int end = open(argv[1], O_WRONLY | O_APPEND);
	unsigned char *maps[] = {map(fd, MAP_SHARED, 0), map(fd, MAP_PRIVATE, 0), map(fd, MAP_SHARED, SKIPPED),
				 map(fd, MAP_PRIVATE, SKIPPED)};
	unsigned long sum = 0;
	for (int round = 0; round < ROUNDS; round++) {
		const unsigned long n = 1 + random_below(round % 3 ? 5000 : MOST);
		const unsigned long at = random_below(SIZE - n);
		for (int m = 0; m < 4; m++) {
			maps[m][random_below(SIZE - SKIPPED)] = (unsigned char)round;
			if (m % 2 == 0 && at >= SKIPPED) /* what the write makes what it was */
				maps[m][at - (m ? SKIPPED : 0) + random_below(n)] ^= 1;
		}
		memset(text, round / 2, n);
		if (pwrite(fd, round % 4 ? text : maps[round / 4 % 4], n, (off_t)at) != (ssize_t)n)
			return 3;
		if (round % 10 == 0 && (ftruncate(fd, SIZE - 5000) || pwrite(end, text, 5000, 17) != 5000))
			return 4;
		for (int m = 0; m < 4; m++)
			for (unsigned long i = 0; i < SIZE - SKIPPED; i += 509)
				sum = sum * 31 + maps[m][i];
	}
	printf("%lu\n", sum);
	return 0;
}
