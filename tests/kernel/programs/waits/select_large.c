/* select(2): the system call takes sets larger than FD_SETSIZE, in words of 64 bits. */
#include "../observe.h"
#include <sys/resource.h>
#include <sys/syscall.h>

int main(void)
{
	unsigned long in[40], out[40];
	struct rlimit limit;
	int fds[2];

	MUST(!getrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_max < 2400)
		skip("2400 descriptors");
	limit.rlim_cur = 2400;
	MUST(!setrlimit(RLIMIT_NOFILE, &limit) && !pipe(fds));
	MUST(dup2(fds[0], 2050) == 2050 && dup2(fds[1], 2200) == 2200);
	memset(in, 0, sizeof in);
	memset(out, 0, sizeof out);
	in[2050 / 64] = 1ul << 2050 % 64;
	out[2200 / 64] = 1ul << 2200 % 64;
	SAY(syscall(SYS_select, 2201, in, out, NULL, (long[2]){0, 0}));
	printf("%d %d\n", in[2050 / 64] != 0, out[2200 / 64] != 0);
	MUST(write(2200, "x", 1) == 1);
	in[2050 / 64] = 1ul << 2050 % 64;
	SAY(syscall(SYS_pselect6, 2051, in, NULL, NULL, NULL, NULL));
	printf("%d\n", in[2050 / 64] != 0);
	return 0;
}
