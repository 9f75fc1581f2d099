/* Maps a file that another process cuts to one page.  argv: the file, and what it does there: "stored" before the cut,
 * "touched" after it. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };
static sigjmp_buf back;

static void handler(int sig)
{
	siglongjmp(back, sig);
}

int main(int argc, char **argv)
{
	char line[8];
	const int fd = open(argv[1], O_RDONLY);
	char *map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (argc < 3 || map == MAP_FAILED)
		return 2;
	if (!strcmp(argv[2], "stored"))
		map[2 * PAGE] = 'y';
	signal(SIGBUS, handler);
	puts("mapped");
	fflush(stdout);
	if (read(0, line, sizeof(line)) != 4)
		return 3;
	for (int i = 0; i < 100; i++)
		getppid();
	if (!strcmp(argv[2], "touched")) {
		if (!sigsetjmp(back, 1))
			return *(volatile char *)(map + 2 * PAGE);
		puts("SIGBUS");
	}
	puts(map[5] == 'x' ? "done" : "?");
	return 0;
}
