/* Two processes take turns in large memory that they share, most of which nobody touches: each writes to pages here and
 * there, takes some away again, and sums up what is there.  argv: "memfd", "file" PATH, or
 * anything else for anonymous memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SIZE
#define SIZE (9 << 20)
#endif
enum { PAGE = 4096, ROUNDS = 60 };

static unsigned long random_below(unsigned long n)
{
	static unsigned long x = 1;
	x = x * 6364136223846793005ul + 1442695040888963407ul;
	return (x >> 20) % n;
}

static unsigned long use(unsigned char *map, int round)
{
	unsigned long sum = 0;
	for (int i = 0; i < 5; i++)
		map[random_below(i ? SIZE : SIZE / 16)] += (unsigned char)(round + i);
	if (round % 5 == 4)
		madvise(map + random_below(SIZE / PAGE / 2) * PAGE, 64 * PAGE, MADV_REMOVE);
	if (round % 10 == 9)
		for (unsigned long at = 0; at < SIZE / 2; at += SIZE / 150000)
			sum = sum * 31 + map[at];
	for (int i = 0; i < 5; i++)
		sum = sum * 31 + map[random_below(SIZE / 16)];
	return sum;
}

int main(int argc, char **argv)
{
	const int memfd = argc > 1 && !strcmp(argv[1], "memfd"), file = argc > 2 && !strcmp(argv[1], "file");
	const int fd = memfd ? memfd_create("sparse", 0) : file ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
	int to[2], back[2];
	char c = 0;
	if ((fd >= 0 && ftruncate(fd, SIZE)) || pipe(to) || pipe(back))
		return 1;
	unsigned char *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (map == MAP_FAILED)
		return 2;
	map[SIZE - 1] = 1;
	const int child = fork() == 0;
	unsigned long sum = 0;
	for (int round = 0; round < ROUNDS; round++) {
		if ((child || round) && read(child ? to[0] : back[0], &c, 1) != 1)
			return 3;
		sum = sum * 31 + use(map, round);
		if (write(child ? back[1] : to[1], &c, 1) != 1)
			return 4;
	}
	printf("%s %lu\n", child ? "child" : "parent", sum);
	fflush(stdout);
	return !child && wait(NULL) < 0;
}
