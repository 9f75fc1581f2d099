/* interposer/base/descriptors.c by itself: more descriptors of ours than there are of a small job. */
#include "base/descriptors.c"
#include "base/descriptor_table.c"
#include <stdio.h>

struct lower lower;

int main(void)
{
	enum { MANY = 200 };
	int fd[MANY], kept = 0;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	limit.rlim_cur = limit.rlim_max < 512 ? limit.rlim_max : 512;
	setrlimit(RLIMIT_NOFILE, &limit);
	descriptors_init();
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < MANY; i++)
		fd[i] = lower_fd(descriptor_open(AT_FDCWD, "/dev/null", O_RDONLY, 0));
	const int own = open("/dev/zero", O_RDONLY);
	if (descriptors_close_range(3, ~0u, 0))
		return 2;
	for (int i = 0; i < MANY; i++)
		kept += fd[i] >= lower.lowest_fd && descriptor_is_ours(fd[i]);
	printf("%d %d\n", kept, fcntl(own, F_GETFD));
	return 0;
}
