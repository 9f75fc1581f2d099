/* chosen_addresses FILE: memory at addresses above the arena that the program chooses, used in all ways. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };
static const uint64_t places[] = {0x500000000000, 0x54fffffff000, 0x600000000000, 0x67fffffff000};

static char *map(uint64_t at, size_t len, int prot, int flags)
{
	char *p = mmap((void *)at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (p == MAP_FAILED || (uint64_t)p != at) {
		printf("%lx: %s\n", (unsigned long)at, strerror(errno));
		exit(1);
	}
	return p;
}

static void line(const char *what, long value)
{
	printf("%s %ld\n", what, value);
	fflush(stdout);
}

static void at_one_place(uint64_t at, const char *name)
{
	char *p = map(at, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED), copy[16] = "";
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), pipes[2];
	line("written", write(fd, "from a file", 12));
	line("read", pread(fd, p, 12, 0)); /* the kernel stores there */
	strcat(p, "!");
	line("written", write(fd, p, 13)); /* and reads there */
	struct iovec to = {copy, 13}, from = {p, 13};
	line("copied", process_vm_readv(getpid(), &to, 1, &from, 1, 0));
	puts(copy);
	line("pipe", pipe(pipes));
	pid_t child = fork();
	if (!child) {
		strcpy(p, "the child's");
		_exit(write(pipes[1], p, 12) != 12);
	}
	line("from the child", read(pipes[0], copy, 12));
	waitpid(child, NULL, 0);
	printf("%s, %s\n", copy, p);
	line("read-only", mprotect(p, PAGE, PROT_READ));
	line("EFAULT", pread(fd, p, 12, 0) < 0 && errno == EFAULT);
	line("writable", mprotect(p, PAGE, PROT_READ | PROT_WRITE));
	char *moved = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	line("moved", mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved);
	puts(moved);
	line("back", mremap(moved, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at) == (void *)at);
	puts(p);
	line("dropped", madvise(p, PAGE, MADV_DONTNEED));
	line("zero", *p == 0);
	p[5] = 7;
	line("unmapped", munmap(moved + PAGE, PAGE));
	line("EEXIST",
	     mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED &&
		     errno == EEXIST);
	char *file = mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	line("of a file", file == p);
	puts(file);
	line("unmapped", munmap(p, PAGE));
	line("EFAULT", write(fd, p, 1) < 0 && errno == EFAULT);
	close(fd);
}

/* As AddressSanitizer does: much is reserved, little is used, and its shadow is 14 TiB. */
static void much(void)
{
	const uint64_t shadow = 0x02008fff7000, heap = 0x600000000000;
	map(shadow, 0xdfff0001000, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_NORESERVE);
	map(heap, 1ul << 42, PROT_NONE, MAP_FIXED | MAP_NORESERVE);
	long sum = 0;
	for (long i = 0; i < 40; i++) {
		char *p = map(heap + (uint64_t)i * (1ul << 36), 4 * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED);
		p[i] = (char)i;
		((char *)shadow)[((uint64_t)p - heap) / 8 + (uint64_t)i] = 1;
		sum += p[i] + ((char *)shadow)[((uint64_t)p - heap) / 8 + (uint64_t)i];
		line("sum", sum);
	}
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
		at_one_place(places[i], argv[1]);
	much();
	return argc != 2;
}
