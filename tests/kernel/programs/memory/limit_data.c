/* getrlimit(2), RLIMIT_DATA: private memory that may be written counts, and what mprotect makes so. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { MIB = 1 << 20, CHUNK = 16 * MIB, MOST = 16 };

static void set(rlim_t soft, rlim_t hard)
{
	const struct rlimit limit = {soft, hard};

	SAY(setrlimit(RLIMIT_DATA, &limit));
}

static char *map(int prot, int flags)
{
	return mmap(NULL, CHUNK, prot, flags | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
	char *chunk[MOST];
	int n = 0;

	set(72 * MIB, RLIM_INFINITY);
	for (; n < MOST; n++)
		if ((chunk[n] = map(PROT_READ | PROT_WRITE, MAP_PRIVATE)) == MAP_FAILED)
			break;
	printf("%d: %s\n", n, strerrorname_np(errno));
	OK((long)map(PROT_READ | PROT_WRITE, MAP_SHARED));
	char *other = map(PROT_READ, MAP_PRIVATE);
	OK((long)other);
	OK(mprotect(other, CHUNK, PROT_READ | PROT_WRITE));
	OK(mprotect(other, 4 * MIB, PROT_WRITE));
	OK(mprotect(chunk[0], CHUNK, PROT_READ | PROT_EXEC));
	OK(mprotect(other, CHUNK, PROT_READ | PROT_WRITE));
	OK(mprotect(chunk[0], CHUNK, PROT_READ | PROT_WRITE));
	OK((long)mmap(chunk[1], CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	OK((long)mremap(chunk[1], CHUNK, 2 * CHUNK, MREMAP_MAYMOVE));
	OK((long)mremap(chunk[1], CHUNK, CHUNK / 4, 0));
	OK((long)sbrk(6 * MIB));
	OK((long)sbrk(6 * MIB));
	OK((long)sbrk(6 * MIB));
	set(4 * MIB, RLIM_INFINITY); /* brk looks at the heap alone, too */
	OK((long)sbrk(-4096));
	OK((long)sbrk(-8 * MIB));
	set(0, RLIM_INFINITY); /* what valgrind set: the hard limit counts */
	OK((long)map(PROT_READ | PROT_WRITE, MAP_PRIVATE));
	OK((long)sbrk(4096));
	return 0;
}
