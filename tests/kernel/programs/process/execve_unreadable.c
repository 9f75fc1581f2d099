/* execve(2): a file that is not there, with arguments that cannot be read; which of them is told has changed between kernels. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/syscall.h>

int main(void)
{
	char *const good[] = {"a", NULL}, *const bad[] = {"a", (char *)8, NULL};

	/* rdb cannot tell what Linux 6.9 to 6.13 says */
	if (syscall(SYS_execve, "nope", bad, NULL) == -1 && errno == ENOENT &&
	    syscall(SYS_execveat, AT_FDCWD, "/bin/true", good, good + 1, 0x10000))
		skip("a kernel between 6.9 and 6.14");
	SAY(syscall(SYS_execve, "nope", bad, NULL));
	SAY(syscall(SYS_execve, "nope", good, bad));
	SAY(syscall(SYS_execve, "nope", 8, NULL));
	SAY(syscall(SYS_execve, ".", bad, NULL));
	SAY(syscall(SYS_execve, "/bin/true", bad, NULL));
	SAY(syscall(SYS_execve, "/proc/self/exe", good, bad));
	SAY(syscall(SYS_execve, 8, bad, bad));
	SAY(syscall(SYS_execveat, 900, "nope", bad, NULL, 0));
	SAY(syscall(SYS_execveat, AT_FDCWD, "/bin/true", bad, NULL, 1));
	SAY(syscall(SYS_execve, "nope", good, good));
	return 0;
}
