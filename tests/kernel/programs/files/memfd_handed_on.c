/* memfd_create(2): a child that has become another program maps the same memory by the inherited descriptor. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(int count, char **arguments)
{
	int status;

	if (count > 1) {
		char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(arguments[1]), 0);
		MUST(memory != MAP_FAILED);
		puts(memory);
		strcpy(memory, "answer");
		return 4;
	}
	int fd = memfd_create("handed on", 0);
	char number[16];
	MUST(fd >= 0 && !ftruncate(fd, 4096));
	char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	strcpy(memory, "question");
	snprintf(number, sizeof number, "%d", fd);
	if (!fork()) {
		execl("/proc/self/exe", arguments[0], number, NULL);
		_exit(99);
	}
	MUST(wait(&status) > 0);
	SAY(WEXITSTATUS(status));
	puts(memory);
	return 0;
}
