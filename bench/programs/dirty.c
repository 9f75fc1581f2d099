/* dirty MB ROUNDS huge|small: writes to all of so much memory in each round, and makes 16 system calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	size_t len = (size_t)atoi(argv[1]) << 20, step = 4096;
	int huge = !strcmp(argv[3], "huge");
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || madvise(p, len, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		return 1;
	for (size_t i = 0; i < len; i += 8)
		*(unsigned long *)(p + i) = i * 0x9e3779b97f4a7c15ul;
	for (int round = 1; round <= atoi(argv[2]); round++) {
		if (huge) /* the kernel splits those that are written to while they are shared with a child */
			madvise(p, len, MADV_DONTNEED);
		for (size_t at = 0; at < len; at += step)
			p[at] = (char)round;
		for (int i = huge; i < 16; i++)
			syscall(SYS_getppid, i);
	}
	return 0;
}
