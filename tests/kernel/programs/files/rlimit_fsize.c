/* setrlimit(2): RLIMIT_FSIZE: a write up to the limit is partial, at the limit SIGXFSZ and EFBIG. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void handler(int number)
{
	printf("signal %d\n", number);
}

int main(void)
{
	/* far above what else this process writes */
	const off_t most = 1L << 40;
	struct rlimit limit = {(rlim_t)most, (rlim_t)most};
	int fd, status;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !setrlimit(RLIMIT_FSIZE, &limit));
	signal(SIGXFSZ, handler);
	SAY(pwrite(fd, "0123456789", 10, most - 4));
	SAY(lseek(fd, 0, SEEK_END) == most);
	SAY(pwrite(fd, "0123456789", 10, most));
	SAY(ftruncate(fd, most + 1));
	SAY(ftruncate(fd, 10));
	SAY(fallocate(fd, 0, most, 10));
	signal(SIGXFSZ, SIG_IGN);
	SAY(pwrite(fd, "0123456789", 10, most));
	fflush(stdout);
	if (!fork()) {
		signal(SIGXFSZ, SIG_DFL);
		_exit(pwrite(fd, "x", 1, most) == 1);
	}
	MUST(wait(&status) > 0);
	printf("killed by %d\n", WTERMSIG(status));
	limit.rlim_max = RLIM_INFINITY;
	SAY(setrlimit(RLIMIT_FSIZE, &limit) && geteuid());
	return 0;
}
