/* Without libFuzzer: mutations of the given files, for so many seconds of a processor, from a seed.
 *
 * mutate SECONDS SEED FILE...
 *
 * The input under way is in ./crash-input, to be given again as `mutate 0 0 crash-input`.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "target.h"

enum { MOST = 1 << 20 };

static uint64_t state;

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state * 0x2545f4914f6cdd1dull >> 16) % below;
}

static size_t mutate(uint8_t *p, size_t len)
{
	static const uint64_t odd[] = {0,      1,          7,          8,          0x7f,  0xff,      0x7fff,
				       0xffff, 0x7fffffff, 0xffffffff, 1ull << 40, ~0ull, 1ull << 63};
	for (uint64_t n = 1 + chance(4); n; n--) {
		size_t at = chance(len), left = len - at;
		switch (chance(8)) {
		case 0: p[at] ^= (uint8_t)(1u << chance(8)); break;
		case 1: p[at] = (uint8_t)chance(256); break;
		case 2: /* a word or half of one, at its place */
		case 3: {
			size_t size = chance(2) ? 4 : 8;
			at &= ~(size - 1);
			if (at + 1 + size <= len) /* the first byte is the target's */
				memcpy(p + at + 1, &odd[chance(sizeof(odd) / sizeof(*odd))], size);
			break;
		}
		case 4: len = at > 1 ? at : len; break;
		case 5: memset(p + at, (int)chance(2) * 255, chance(left < 64 ? left : 64)); break;
		default: {
			size_t from = chance(len), size = chance(left < len - from ? left : len - from);
			memmove(p + at, p + from, size);
		}
		}
	}
	return len;
}

int main(int argc, char **argv)
{
	static uint8_t seeds[8][MOST];
	size_t len[8];
	int n = 0;
	double seconds = argc > 3 ? atof(argv[1]) : 0;
	for (; argc > 3 + n && n < 8; n++) {
		int fd = open(argv[3 + n], O_RDONLY);
		ssize_t got = fd < 0 ? -1 : read(fd, seeds[n], MOST);
		if (got <= 0) {
			fprintf(stderr, "mutate: %s cannot be read\n", argv[3 + n]);
			return 2;
		}
		close(fd);
		len[n] = (size_t)got;
	}
	if (!n)
		return 2;
	state = strtoull(argv[2], NULL, 10) * 2 + 1;
	int fd = open("crash-input", O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint8_t *input = fd < 0 || ftruncate(fd, MOST) ? MAP_FAILED
						       : mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (input == MAP_FAILED)
		return 2;
	unsigned long runs = 0;
	struct timespec start, now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	do {
		int k = (int)chance((uint64_t)n);
		memcpy(input, seeds[k], len[k]);
		size_t size = runs ? mutate(input, len[k]) : len[k];
		LLVMFuzzerTestOneInput(input, size);
		runs++;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) < seconds);
	unlink("crash-input");
	printf("%lu runs\n", runs);
	return 0;
}
