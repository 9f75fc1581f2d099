/* fcntl_locking(2): F_SETLKW that would close a circle of waiting processes fails with EDEADLK. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/wait.h>

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600), two[2], status;
	struct flock first = {.l_type = F_WRLCK, .l_start = 0, .l_len = 1},
		     second = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};
	char byte;

	MUST(fd >= 0 && !pipe(two));
	MUST(!fcntl(fd, F_SETLK, &first));
	pid_t child = fork();
	if (!child) {
		MUST(!fcntl(fd, F_SETLK, &second) && write(two[1], "x", 1) == 1);
		/* one of the two has to fail */
		int failed = fcntl(fd, F_SETLKW, &first) < 0 && errno == EDEADLK;
		_exit(failed ? 1 : 0);
	}
	MUST(read(two[0], &byte, 1) == 1);
	int failed = fcntl(fd, F_SETLKW, &second) < 0 && errno == EDEADLK;
	if (failed) {
		first.l_type = F_UNLCK;
		MUST(!fcntl(fd, F_SETLK, &first));
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("failed: %d\n", failed + WEXITSTATUS(status));
	return 0;
}
