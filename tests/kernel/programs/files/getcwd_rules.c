/* getcwd(3): ERANGE, EINVAL, a buffer of its own; fchdir; realpath and links; a folder without permission. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int main(void)
{
	char text[PATH_MAX], small[3], *own;
	int here;

	MUST((here = open(".", O_RDONLY)) >= 0 && !mkdir("a", 0700) && !mkdir("a/b", 0700) && !symlink("a/b", "link"));
	SAY(getcwd(small, sizeof small) ? 0 : -1);
	SAY(syscall(SYS_getcwd, small, sizeof small));
	SAY(syscall(SYS_getcwd, text, 0));
	SAY(syscall(SYS_getcwd, (char *)8, sizeof text));
	SAY(chdir("link"));
	MUST((own = getcwd(NULL, 0)));
	long n = syscall(SYS_getcwd, text, sizeof text);
	printf("%s, %d\n", strrchr(own, '/'), n == (long)strlen(own) + 1);
	SAY(fchdir(here));
	SAY(fchdir(0));
	SAY(chdir("absent"));
	SAY(chdir("/proc/self/status"));
	MUST(realpath("link/../../link/.", text));
	puts(strrchr(text, '/'));
	SAY(realpath("link/absent", text) ? 0 : -1);
	puts(strrchr(text, '/'));
	SAY(chdir(""));
	for (int i = 0; i < 20; i++)
		MUST(!mkdir("a long name for a folder below", 0700) && !chdir("a long name for a folder below"));
	MUST(getcwd(text, sizeof text));
	SAY(strlen(text) > 600);
	return 0;
}
