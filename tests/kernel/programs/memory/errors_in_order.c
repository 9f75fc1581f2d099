/* mmap(2), mprotect(2), mremap(2), madvise(2): where several things are wrong, which of them is told. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { PAGE = 4096 };

int main(void)
{
	char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const unsigned long half = 1ul << 63;
	int path = open(".", O_PATH);

	MUST(p != MAP_FAILED && path >= 0 && !munmap(p + 2 * PAGE, PAGE));
	/* the raw call: the library looks at some arguments itself */
	OK(syscall(SYS_mmap, 0, 0, PROT_READ, MAP_PRIVATE, 900, 0));
	OK(syscall(SYS_mmap, 0, 0, PROT_READ, MAP_PRIVATE, path, 0));
	OK(syscall(SYS_mmap, 0, 0, PROT_READ, MAP_PRIVATE, path, 1));
	OK(syscall(SYS_mmap, 0, PAGE, PROT_READ, 0, 900, 0));
	OK(syscall(SYS_mmap, 0, 1ul << 63, PROT_READ, MAP_HUGETLB, 0, 0));
	OK(syscall(SYS_mmap, 0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	OK(syscall(SYS_mmap, 0, half, PROT_READ, MAP_ANONYMOUS, -1, 0));
	OK(syscall(SYS_mmap, 0, -1ul, PROT_READ, MAP_ANONYMOUS, -1, 0));
	OK(syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0));

	SAY(mprotect(p + 1, -(unsigned long)PAGE, PROT_READ));
	SAY(mprotect(p, 0, -1));
	SAY(mprotect(p, PAGE, -1));
	SAY(mprotect(p, PAGE, 1 << 10));
	SAY(mprotect((void *)-(long)PAGE, 16, 1 << 10));
	SAY(mprotect((void *)-(long)PAGE, 16, PROT_READ));
	SAY(mprotect((void *)-(long)PAGE, 0, PROT_READ));
	SAY(mprotect(p, -1ul, PROT_READ));
	/* a key that nobody has */
	SAY(syscall(SYS_pkey_mprotect, p + 1, 0, -1, 15));
	SAY(syscall(SYS_pkey_mprotect, p, 0, -1, 15));
	SAY(syscall(SYS_pkey_mprotect, (void *)-(long)PAGE, 16, PROT_READ, 15));
	SAY(syscall(SYS_pkey_mprotect, p, PAGE, PROT_READ, 15));
	SAY(syscall(SYS_pkey_mprotect, p, PAGE, PROT_READ | PROT_WRITE, -1));

	OK((long)mremap(p + 2 * PAGE, PAGE, PAGE, 0));
	OK((long)mremap(p + 2 * PAGE, 4 * PAGE, PAGE, 0));
	OK((long)mremap(p + 2 * PAGE, 0, PAGE, 0));
	OK((long)mremap(p + 2 * PAGE, PAGE, 0, 0));
	OK((long)mremap(p, 0, PAGE, 0));
	OK((long)mremap(p, 0, PAGE, MREMAP_MAYMOVE));
	OK((long)mremap((void *)-(long)PAGE, PAGE, PAGE, 0));
	OK((long)mremap((void *)-(long)PAGE, PAGE, PAGE, 64));
	OK((long)mremap(p, half, PAGE, 0));
	OK((long)mremap(p, PAGE, PAGE, 0));

	SAY(madvise(p, half, 99));
	SAY(madvise(p, -1ul, MADV_NORMAL));
	SAY(madvise(p, 0, MADV_NORMAL));
	SAY(madvise(p, 0, 99));
	SAY(madvise(p + 1, 0, MADV_NORMAL));
	SAY(madvise((void *)-(long)PAGE, PAGE, MADV_NORMAL));
	SAY(madvise((void *)-(long)(2 * PAGE), PAGE, MADV_NORMAL));
	return 0;
}
