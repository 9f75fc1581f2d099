/* many_files DIR N: makes 2 N pipes, one after the other, then has N files open; prints a sum of what is in the files and in a
 * pipe that stays. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int n = atoi(argv[2]);
	int *fd = calloc((size_t)n, sizeof(*fd)), ends[2], kept[2];
	unsigned long sum = 0;
	char name[4096];
	for (int i = 0; i < 2 * n; i++) {
		if (pipe(ends) || write(ends[1], &i, sizeof(i)) != sizeof(i) || close(ends[0]) || close(ends[1]))
			return 1;
	}
	if (pipe(kept) || write(kept[1], "kept", 5) != 5)
		return 1;
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%d", argv[1], i);
		fd[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd[i] < 0 || write(fd[i], &i, sizeof(i)) != sizeof(i))
			return 1;
	}
	syscall(SYS_getppid);
	for (int i = 0; i < n; i++) {
		int was;
		if (pread(fd[i], &was, sizeof(was), 0) != sizeof(was) || lseek(fd[i], 0, SEEK_CUR) != sizeof(was))
			return 1;
		sum = sum * 31 + (unsigned long)was;
	}
	if (read(kept[0], name, sizeof(name)) != 5)
		return 1;
	printf("%016lx %s\n", sum, name);
	return 0;
}
