/* mmap(2): ERRORS: no length, no type, an offset within a page, both types, a descriptor that cannot be read. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	int out = open("file", O_CREAT | O_WRONLY, 0600), in;

	MUST(out >= 0 && !ftruncate(out, 8192));
	in = open("file", O_RDONLY);
	MUST(in >= 0);
	OK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, in, 0));
	OK(mmap(NULL, 4096, PROT_READ, 0, in, 0));
	OK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, in, 100));
	OK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, out, 0));
	OK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, in, 0));
	OK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, in, 0));
	OK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0));
	OK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 99, 0));
	OK(mmap(NULL, -4096ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	OK(mmap((void *)1, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	OK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open(".", O_RDONLY), 0));
	OK(mmap(NULL, 4096, PROT_READ, MAP_SHARED_VALIDATE | 0x8000000, in, 0));
	OK(mmap(NULL, 4096, PROT_READ, MAP_SHARED_VALIDATE, in, 0));
	return 0;
}
