/* Cuts a file while it is mapped privately and pages of the mapping have been stored to: natively they are gone.
 * argv: a new file, how it is cut, and more: when it is not mapped any more. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4, ROUNDS = 12, OTHER = 1 << 20 };

static void cut(const char *path, int fd, const char *how)
{
	if (!strcmp(how, "ftruncate"))
		(void)!ftruncate(fd, 0);
	else if (!strcmp(how, "truncate"))
		(void)!truncate(path, 0);
	else
		close(open(path, O_WRONLY | O_TRUNC));
}

int main(int argc, char **argv)
{
	char text[PAGES * PAGE];
	char *other = mmap(NULL, OTHER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 3 || other == MAP_FAILED)
		return 1;
	memset(text, 'a', sizeof(text));
	for (int round = 0; round < ROUNDS; round++) {
		int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
		if (write(fd, text, sizeof(text)) != sizeof(text))
			return 2;
		char *map = mmap(NULL, sizeof(text), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			return 3;
		memset(map + PAGE, 'A' + round, PAGE + 100);
		memset(other, round, OTHER); /* something to write beside */
		if (round % 2)               /* the mapping follows the file */
			pwrite(fd, "x", 1, 0);
		getppid();
		if (argc > 3)
			munmap(map, sizeof(text));
		cut(argv[1], fd, argv[2]);
		if (argc == 3)
			munmap(map, sizeof(text));
		close(fd);
	}
	puts("done");
	return 0;
}
