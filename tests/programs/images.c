/* images ROUNDS: changes its memory in every way between system calls, so that images have to follow. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MB = 1 << 20, PAGE = 4096 };

static char *anonymous(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static unsigned long sum(const char *p, size_t len)
{
	unsigned long s = 0;
	for (size_t i = 0; i < len; i += 97)
		s = s * 31 + (unsigned char)p[i];
	return s;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 40;
	char *heap = anonymous(4 * MB), *hidden = anonymous(16 * PAGE), *moved = anonymous(8 * PAGE);
	char *gone = anonymous(MB);
	unsigned long s = 0;
	int fd = open("/proc/self/exe", O_RDONLY);
	char *file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return 1;
	memset(heap, 1, 4 * MB);
	for (int i = 0; i < 8 * PAGE; i++)
		moved[i] = (char)(i / 7);
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 5; k++)
			heap[((unsigned)i * 7919u + (unsigned)k * 104729u) * 64u % (4 * MB)] = (char)i;
		switch (i % 12) {
		case 0: memset(hidden, i + 1, 16 * PAGE); break;
		case 1: mprotect(hidden, 16 * PAGE, PROT_NONE); break; /* holds something all the same */
		case 3:
			mprotect(hidden, 16 * PAGE, PROT_READ | PROT_WRITE);
			s += sum(hidden, 16 * PAGE);
			break;
		case 4: moved = mremap(moved, 8 * PAGE, 24 * PAGE, MREMAP_MAYMOVE); break;
		case 5:
			moved[20 * PAGE] = (char)i;
			s += sum(moved, 24 * PAGE);
			moved = mremap(moved, 24 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
			break;
		case 6: memset(heap + 2 * MB, 0, 64 * PAGE); break; /* were saved, are zeros now */
		case 7: madvise(heap + MB, 64 * PAGE, MADV_DONTNEED); break;
		case 8:
			memset(gone, i, MB);
			munmap(gone + 16 * PAGE, 32 * PAGE);
			break;
		case 9:
			mmap(gone + 16 * PAGE, 32 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			gone[20 * PAGE] = (char)i;
			break;
		case 10:
			file[PAGE + i] = (char)i;
			memset(file + 2 * PAGE, 0, PAGE);
			break;
		case 11:
			madvise(file, PAGE * 2, MADV_DONTNEED);
			free(malloc((size_t)i * 10000 + 200000));
			if (sbrk(3 * PAGE) != (void *)-1)
				sbrk(-2 * PAGE);
			break;
		}
		s += sum(heap, 4 * MB) + sum(file, 4 * PAGE) + sum(gone, 16 * PAGE);
		for (int k = 0; k < 3; k++)
			s += (unsigned long)syscall(SYS_getppid, k) > 0;
	}
	printf("%lx\n", s);
	return 0;
}
