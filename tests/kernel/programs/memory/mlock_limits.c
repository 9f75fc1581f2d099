/* mlock(2): RLIMIT_MEMLOCK holds for what is not privileged; ENOMEM where nothing is mapped, EINVAL for unknown flags. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/resource.h>

int main(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in[4];

	MUST(p != MAP_FAILED && !munmap(p + 3 * 4096, 4096));
	SAY(mlock(p, 4096));
	SAY(mlock(p + 2 * 4096, 2 * 4096));
	SAY(mlock2(p + 4096, 4096, MLOCK_ONFAULT));
	SAY(mlock2(p, 4096, 64));
	MUST(!mincore(p, 2 * 4096, in));
	printf("%d%d\n", in[0] & 1, in[1] & 1);
	SAY(munlock(p, 4096));
	SAY(munlock(p + 3 * 4096, 4096));
	SAY(madvise(p + 4096, 4096, MADV_DONTNEED));
	SAY(munlockall());
	SAY(madvise(p + 4096, 4096, MADV_DONTNEED));
	SAY(mlockall(0));
	SAY(mlockall(128));
	return 0;
}
