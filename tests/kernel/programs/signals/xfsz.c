/* setrlimit(2): a write past RLIMIT_FSIZE is cut short; the next one raises SIGXFSZ and fails with EFBIG. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d code %d\n", sig, info->si_code);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	const rlim_t size = 1ul << 40;
	struct rlimit limit = {size, RLIM_INFINITY}, old;
	int fd = open("file", O_RDWR | O_CREAT, 0600);

	MUST(fd >= 0 && !getrlimit(RLIMIT_FSIZE, &old));
	limit.rlim_max = old.rlim_max;
	MUST(!setrlimit(RLIMIT_FSIZE, &limit) && !sigaction(SIGXFSZ, &action, NULL));
	SAY(pwrite(fd, "0123456789", 10, (off_t)size - 4));
	SAY(pwrite(fd, "0123456789", 10, (off_t)size));
	SAY(ftruncate(fd, (off_t)size + 1));
	signal(SIGXFSZ, SIG_IGN);
	SAY(pwrite(fd, "0123456789", 10, (off_t)size));
	SAY(ftruncate(fd, 10));
	return 0;
}
