/* Code that is mapped twice: written through one mapping, run through the other.  Looks at its bytes through the first one. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *rw, *rx;

static unsigned sum(const unsigned char *p)
{
	unsigned s = 0;
	for (int i = 0; i < 64; i++)
		s = s * 31 + p[i];
	return s;
}

__attribute__((noinline)) void made(void)
{
	getppid();
}

int main(void)
{
	/* lea 1(%rdi), %eax; ret */
	static const unsigned char code[] = {0x8d, 0x47, 0x01, 0xc3};
	const int fd = memfd_create("code", 0);
	int value = 0;
	ftruncate(fd, 4096);
	rw = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rx = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	memcpy(rw + 16, code, sizeof(code));
	made();
	for (int i = 0; i < 5; i++) {
		value = ((int (*)(int))(rx + 16))(value);
		printf("%d %08x\n", value, sum(rw));
		fflush(stdout);
	}
	rw[18] = 2; /* the program writes over it: adds 2 from here on */
	for (int i = 0; i < 5; i++) {
		value = ((int (*)(int))(rx + 16))(value);
		printf("%d %08x\n", value, sum(rw));
		fflush(stdout);
	}
	return 0;
}
