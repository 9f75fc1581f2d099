/* Bytes that would be instructions, among constants: in the program's own text segment (-z noseparate-code), and in a file
 * that is mapped to be read, written and run (argv[1], made here), as a compiler's heap is. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOPS "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
#define MANY NOPS NOPS NOPS NOPS NOPS NOPS NOPS NOPS NOPS NOPS

static const char table[] = MANY "\x0f\xa2" /* cpuid */ MANY "\xb8\x01\0\0\0\x0f\xa2" /* mov $1,%eax; cpuid */ MANY
				 "\x48\x0f\xc7\xf0\x73\xfa" /* rdrand %rax; jae */ MANY
				 "\x0f\x31\x48\xc1\xe2\x20" /* rdtsc; shl $32,%rdx */ MANY;
static const char data[] = MANY "\x0f\xa2" MANY "\x0f\xc7\xf0" MANY;

static unsigned long sum(const volatile char *p, size_t len)
{
	unsigned long s = 0;
	for (size_t i = 0; i < len; i++)
		s = s * 31 + (unsigned char)p[i];
	return s;
}

int main(int argc, char **argv)
{
	printf("constants %#lx\n", sum(table, sizeof(table)));
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (write(fd, data, sizeof(data)) != sizeof(data))
		return 1;
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return 2;
	printf("data %#lx\n", sum(p, sizeof(data)));
	memcpy(p, "\xb8\x07\0\0\0\xc3", 6); /* mov $7,%eax; ret */
	printf("run %d\n", ((int (*)(void))(uintptr_t)p)());
	p[sizeof(MANY) - 1] = 1; /* where the first two are */
	printf("written %#lx\n", sum(p, sizeof(data)));
	return 0;
}
