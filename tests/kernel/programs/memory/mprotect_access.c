/* mprotect(2): EACCES for writing to a shared mapping of a file that is open for reading only; private ones may. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600);
	char *shared, *private;

	MUST(fd >= 0 && write(fd, "hello", 5) == 5);
	close(fd);
	MUST((fd = open("file", O_RDONLY)) >= 0);
	shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	private = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(shared != MAP_FAILED && private != MAP_FAILED);
	SAY(mprotect(shared, 4096, PROT_READ | PROT_WRITE));
	SAY(mprotect(shared, 4096, PROT_READ | PROT_EXEC));
	SAY(mprotect(private, 4096, PROT_READ | PROT_WRITE));
	private[0] = 'j';
	printf("%s %s\n", shared, private);
	return 0;
}
