/* access(2): asks with the real user, AT_EACCESS with the effective one; root may do all but run what none may run. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

static void ask(const char *who)
{
	printf("%s\n", who);
	SAY(access("private", R_OK));
	SAY(faccessat(AT_FDCWD, "private", R_OK, AT_EACCESS));
	SAY(access("none", R_OK | W_OK));
	SAY(faccessat(AT_FDCWD, "none", R_OK | W_OK, AT_EACCESS));
	SAY(access("none", X_OK));
	SAY(access("runs", X_OK));
	SAY(access("absent", F_OK));
	SAY(access("private", 9));
	SAY(access("/proc/version", W_OK));
}

int main(void)
{
	MUST(!close(open("private", O_CREAT | O_WRONLY, 0600)) && !close(open("none", O_CREAT | O_WRONLY, 0)));
	MUST(!close(open("runs", O_CREAT | O_WRONLY, 0711)));
	ask("at first");
	if (geteuid())
		return 0;
	MUST(!chmod(".", 0755) && !seteuid(65534));
	ask("effective user 65534");
	MUST(!seteuid(0) && !setresuid(65534, 0, 0));
	ask("real user 65534");
	MUST(!setresuid(65534, 65534, 65534));
	ask("no way back");
	return 0;
}
