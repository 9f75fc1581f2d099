/* A parent that talks with its child over pipes, and waits for it; getppid() marks places to restart at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 6 };

static int child(int in, int out)
{
	int got, sum = 0;
	while (read(in, &got, sizeof(got)) == sizeof(got)) {
		sum += got;
		getppid();
		if (write(out, &sum, sizeof(sum)) != sizeof(sum))
			return 1;
	}
	return sum;
}

int main(void)
{
	int to[2], from[2], sum = 0, status;
	if (pipe(to) || pipe(from))
		return 2;
	pid_t pid = fork();
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		_exit(child(to[0], from[1]));
	}
	close(to[0]);
	close(from[1]);
	/* one ahead, so that there is always something in a pipe */
	for (int i = 1; i <= TURNS + 1; i++) {
		if (i <= TURNS && write(to[1], &i, sizeof(i)) != sizeof(i))
			return 3;
		if (i == 1)
			continue;
		if (read(from[0], &sum, sizeof(sum)) != sizeof(sum))
			return 4;
		printf("%d: %d\n", i - 1, sum);
		fflush(stdout);
		getppid();
	}
	close(to[1]);
	pid_t waited = waitpid(pid, &status, 0);
	getppid();
	printf("%s, status %d\n", waited == pid ? "its child" : "another", WEXITSTATUS(status));
	return WEXITSTATUS(status) == TURNS * (TURNS + 1) / 2 ? 0 : 5;
}
