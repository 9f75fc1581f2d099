/* mmap(2): MAP_PRIVATE: stores are not in the file and not in a child's later stores; MADV_DONTNEED shows the file again. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
	char text[16] = "";
	int fd = open("file", O_CREAT | O_RDWR, 0600), status;

	MUST(fd >= 0 && write(fd, "of the file", 11) == 11 && !ftruncate(fd, 8192));
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MUST(memory != MAP_FAILED);
	memcpy(memory, "OWN", 3);
	SAY(pread(fd, text, 11, 0));
	printf("%s, %s\n", memory, text);
	fflush(stdout);
	if (!fork()) {
		printf("%s\n", memory);
		memcpy(memory + 4, "child", 5);
		fflush(stdout);
		_exit(0);
	}
	MUST(wait(&status) > 0);
	puts(memory);
	SAY(pwrite(fd, "second page", 11, 4096));
	puts(memory + 4096);
	SAY(madvise(memory, 4096, MADV_DONTNEED));
	puts(memory);
	SAY(msync(memory, 4096, MS_SYNC));
	MUST(!mprotect(memory, 8192, PROT_READ) && !mprotect(memory, 8192, PROT_READ | PROT_WRITE));
	SAY(read(fd, memory + 10, 0));
	SAY(pread(fd, memory + 20, 6, 4096)); /* the file's bytes into its own private mapping */
	puts(memory + 20);
	return 0;
}
