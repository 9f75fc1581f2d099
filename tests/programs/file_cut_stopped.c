/* Stops the process that writes a checkpoint, then cuts a file that is mapped: that may not wait for ever.
 * argv: a new file. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, OTHER = 64 << 20 };

int main(int argc, char **argv)
{
	char path[64], text[32] = "", *other = malloc(OTHER);
	const int fd = open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, PAGE))
		return 1;
	char *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	const int children = open(path, O_RDONLY);
	if (children < 0)
		return 2;
	/* one that was stopped when the image was there already is not waited for */
	time_t began;
	do {
		memset(text, 0, sizeof(text));
		memset(other, *other + 1, OTHER); /* something to write */
		while (!*text)
			(void)!pread(children, text, sizeof(text) - 1, 0);
		kill(atoi(text), SIGSTOP);
		*map = 1;
		began = time(NULL);
		if (ftruncate(fd, 0) || ftruncate(fd, PAGE))
			return 3;
		kill(atoi(text), SIGKILL);
	} while (time(NULL) - began < 5);
	puts("cut");
	return 0;
}
