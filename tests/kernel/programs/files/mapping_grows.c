/* mremap(2): a file mapping that grows shows more of the file; MAP_FIXED replaces a part; munmap splits. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600), other = open("other", O_CREAT | O_RDWR, 0600);
	static char page[4096];

	MUST(fd >= 0 && other >= 0);
	for (char c = 'a'; c < 'g'; c++) {
		memset(page, c, sizeof page);
		MUST(write(fd, page, sizeof page) == sizeof page);
		memset(page, c - 32, sizeof page);
		MUST(write(other, page, sizeof page) == sizeof page);
	}
	char *memory = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	MUST(memory != MAP_FAILED);
	memory = mremap(memory, 2 * 4096, 5 * 4096, MREMAP_MAYMOVE);
	MUST(memory != MAP_FAILED);
	printf("%c%c%c\n", memory[0], memory[2 * 4096], memory[4 * 4096]);
	MUST(mmap(memory + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, other, 5 * 4096) == memory + 4096);
	printf("%c%c%c\n", memory[0], memory[4096], memory[2 * 4096]);
	SAY(mmap(memory, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, other, 0) == MAP_FAILED ? -1 : 0);
	char *copy = mremap(memory, 0, 4096, MREMAP_MAYMOVE); /* a second mapping of the same pages */
	MUST(copy != MAP_FAILED);
	copy[5] = '!';
	printf("%c\n", memory[5]);
	MUST(!munmap(memory + 2 * 4096, 4096));
	memory[3 * 4096] = 'z';
	MUST(pread(fd, page, 1, 4 * 4096) == 1);
	printf("%c\n", page[0]);
	SAY(mremap(memory, 3 * 4096, 6 * 4096, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
	MUST(mprotect(memory + 4096, 4096, PROT_READ | PROT_WRITE) == 0);
	memory[4096] = '?';
	MUST(pread(other, page, 1, 5 * 4096) == 1);
	printf("%c%c\n", memory[4096], page[0]);
	return 0;
}
