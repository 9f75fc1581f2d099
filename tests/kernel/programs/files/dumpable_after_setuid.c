/* proc(5): a process that changes its user is no longer dumpable; execve makes it dumpable again. */
#include "../observe.h"
#include <sys/prctl.h>

int main(int count, char **arguments)
{
	SAY(prctl(PR_GET_DUMPABLE));
	if (count > 1)
		return 0;
	SAY(prctl(PR_SET_DUMPABLE, 0));
	SAY(prctl(PR_GET_DUMPABLE));
	SAY(prctl(PR_SET_DUMPABLE, 1));
	SAY(prctl(PR_SET_DUMPABLE, 2));
	SAY(setuid(getuid()));
	SAY(prctl(PR_GET_DUMPABLE));
	if (!geteuid()) {
		SAY(setegid(65534));
		SAY(prctl(PR_GET_DUMPABLE));
		SAY(prctl(PR_SET_DUMPABLE, 1));
		SAY(prctl(PR_GET_DUMPABLE));
		SAY(setresuid(65534, 65534, 65534));
		SAY(prctl(PR_GET_DUMPABLE));
		SAY(prctl(PR_SET_DUMPABLE, 1));
		return 0;
	}
	fflush(stdout);
	execl("/proc/self/exe", arguments[0], "again", NULL);
	MUST(0);
}
