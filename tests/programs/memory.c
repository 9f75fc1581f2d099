/* The memory map in all its moves; prints a checksum of what it sees. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { perror(#x); return 1; } } while (0)

int main(int argc, char **argv)
{
	unsigned long sum = 0;
	char *a = mmap(NULL, 40 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(a != MAP_FAILED);
	for (int i = 0; i < 40; i++)
		a[i * 4096] = (char)i;
	CHECK(munmap(a + 4096, 4096) == 0);
	CHECK(mprotect(a + 2 * 4096, 4096, PROT_READ) == 0);
	CHECK(madvise(a + 10 * 4096, 5 * 4096, MADV_DONTNEED) == 0);
	for (int i = 2; i < 40; i++)
		sum += (unsigned long)a[i * 4096] * (unsigned)i;
	char *b = mremap(a + 20 * 4096, 20 * 4096, 60 * 4096, MREMAP_MAYMOVE);
	CHECK(b != MAP_FAILED);
	for (int i = 0; i < 60; i++)
		sum += (unsigned long)b[i * 4096] << (i % 8);
	b = mremap(b, 60 * 4096, 10 * 4096, MREMAP_MAYMOVE);
	CHECK(b != MAP_FAILED);

	/* a private file mapping, with its end inside a page and pages beyond it */
	int fd = open(argv[0], O_RDONLY);
	CHECK(fd >= 0);
	off_t size = lseek(fd, 0, SEEK_END);
	char *m = mmap(NULL, (size_t)size + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(m != MAP_FAILED);
	for (off_t i = 0; i < size; i += 97)
		sum += (unsigned char)m[i];
	m[100] ^= 0x55;
	CHECK(madvise(m, 4096, MADV_DONTNEED) == 0);
	sum += (unsigned char)m[100];
	close(fd);

	char *heap = sbrk(0);
	CHECK(sbrk(100000) != (void *)-1);
	memset(heap, 7, 100000);
	CHECK(sbrk(-50000) != (void *)-1);
	CHECK(sbrk(60000) != (void *)-1);
	sum += (unsigned char)heap[60000];
	void *p = malloc(300000);
	for (int i = 2; i < 12; i++) {
		p = realloc(p, 300000ul * (unsigned)i);
		CHECK(p);
		memset((char *)p + 300000ul * (unsigned)(i - 1), i, 300000);
	}
	for (size_t i = 0; i < 3000000; i += 999)
		sum += ((unsigned char *)p)[i];
	printf("%p %p %p %lu\n", (void *)a, (void *)m, p, sum);
	free(p);
	return 0;
}
