/* A program that works on a file that it has mapped shared, alone (`one`), closed (`closed`), or with a child that has it
 * mapped, too (`two`), by pipes in turn; it is read by name in between, and cut and written to.  getppid() marks places to
 * restart at. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 5, PAGE = 4096, SIZE = 2 * PAGE + 100, WORDS = SIZE / (int)sizeof(int) };

static unsigned in_file(void)
{
	static int words[WORDS + 1];
	unsigned sum = 0;
	int fd = open("mapped", O_RDONLY);
	ssize_t n = read(fd, words, sizeof(words));
	close(fd);
	for (int i = 0; i < n / (int)sizeof(int); i++)
		sum = sum * 31 + (unsigned)words[i];
	return sum;
}

static int work(const int to[2], const int from[2], int *file)
{
	char c;
	close(to[1]);
	while (read(to[0], &c, 1) == 1) {
		for (int i = 0; i < WORDS; i += 100)
			file[i] = file[i] * 3 + file[1];
		getppid();
		if (write(from[1], &c, 1) != 1)
			return 1;
	}
	return 7;
}

int main(int argc, char **argv)
{
	int to[2], from[2], status = 0;
	char c = 0;
	const char *how = argv[argc - 1];
	int fd = open("mapped", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, SIZE))
		return 2;
	int *file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED || pipe(to) || pipe(from))
		return 3;
	if (strcmp(how, "one"))
		close(fd);
	if (!strcmp(how, "two") && !fork())
		_exit(work(to, from, file));
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = turn; i < WORDS; i += 7)
			file[i] += turn + i;
		getppid();
		if (!strcmp(how, "two") && (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1))
			return 4;
		if (!strcmp(how, "one") && pwrite(fd, &turn, sizeof(turn), PAGE) != sizeof(turn))
			return 5;
		printf("%d: %x\n", turn, in_file());
		fflush(stdout);
		getppid();
	}
	munmap(file, SIZE);
	close(to[1]);
	getppid();
	if (!strcmp(how, "two") && wait(&status) < 0)
		return 6;
	printf("%x, status %d\n", in_file(), WEXITSTATUS(status));
	return 0;
}
