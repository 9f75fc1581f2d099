/* uts_namespaces(7): a host name that is set in a new namespace is seen there only. */
#include "../observe.h"
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

int main(void)
{
	struct utsname before, after;
	int how;

	MUST(!uname(&before));
	pid_t pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWUTS))
			_exit(77);
		SAY(sethostname("inside", 6));
		SAY(syscall(SYS_sethostname, "x", 65));
		SAY(setdomainname("domain", 6));
		MUST(!uname(&after));
		printf("%s %s\n", after.nodename, after.domainname);
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(pid, &how, 0) == pid);
	if (WEXITSTATUS(how) == 77)
		skip("user namespaces");
	MUST(!uname(&after));
	printf("%d\n", strcmp(before.nodename, after.nodename));
	return 0;
}
