/* Makes system calls that no table knows: 999, 998, and numbers that no kernel has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char text[64];

int main(void)
{
	static const long none[] = {337, 386, 423, 480, 520, 600, 4095, 0x40000001, 0x7fffffff, 0x80000000, 0xffffffff, -1};
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int missing = 0;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		missing += syscall(none[i], text, text, text, 0, 0, 0) == -1 && errno == ENOSYS;
	printf("%d missing\n", missing);
	/* the kernel looks at 32 bits of the number: this is getppid() */
	printf("same parent: %d\n", syscall(0x100000000 + SYS_getppid) == getppid());
	for (int i = 0; i < 3; i++) {
		memset(text, 'x', sizeof(text));
		memcpy(pages + 4094, "old", 3);
		long answer = syscall(999, text, pages + 4094);
		printf("%ld %.64s %.3s\n", answer, text, pages + 4094);
	}
	missing = (int)syscall(998);
	printf("%d %d\n", missing, errno);
	return 0;
}
