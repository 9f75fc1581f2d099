/* mmap(2): calls that read into or write from a mapping of the same file: read, pread of itself, readv, splice. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600), two[2];

	MUST(fd >= 0 && !ftruncate(fd, 3 * 4096) && !pipe(two));
	char *memory = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *again = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
	char *private = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MUST(memory != MAP_FAILED && again != MAP_FAILED && private != MAP_FAILED);
	strcpy(memory, "first page");
	SAY(pread(fd, memory + 4096, 100, 0)); /* from the file into the file */
	puts(again);
	SAY(pwrite(fd, memory, 6, 8192));
	puts(memory + 8192);
	puts(private + 4096);
	strcpy(private + 4096, "own");
	struct iovec v[2] = {{memory + 100, 5}, {private + 8192 + 100, 5}};
	SAY(preadv(fd, v, 2, 0));
	printf("%s, %s\n", memory + 100, private + 8192 + 100);
	MUST(write(two[1], "through a pipe", 14) == 14);
	SAY(read(two[0], memory + 200, 7));
	puts(memory + 200);
	SAY(splice(two[0], NULL, fd, &(off_t){4096 + 4}, 7, 0));
	puts(again);
	SAY(fstat(fd, (struct stat *)(memory + 1024)));
	SAY(((struct stat *)(memory + 1024))->st_size);
	SAY(ftruncate(fd, 4096 + 10));
	puts(private + 4096);
	printf("[%s] [%.6s]\n", again + 10, again);
	SAY(pwrite(fd, "grown", 5, 2 * 4096 + 50));
	puts(memory + 8192 + 50);
	puts(private + 8192 + 50);
	return 0;
}
