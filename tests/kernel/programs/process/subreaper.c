/* prctl(2): with PR_SET_CHILD_SUBREAPER orphans become the process' children; it is not inherited. */
#include "../observe.h"
#include <sys/prctl.h>
#include <sys/wait.h>

int main(void)
{
	int is, how, ends[2];
	char c;

	MUST(!pipe(ends));
	SAY(prctl(PR_SET_CHILD_SUBREAPER, 1));
	MUST(!prctl(PR_GET_CHILD_SUBREAPER, &is));
	pid_t self = getpid(), pid = fork();
	if (!pid) {
		MUST(!prctl(PR_GET_CHILD_SUBREAPER, &is));
		if (!fork()) {
			close(ends[1]);
			MUST(read(ends[0], &c, 1) == 0);
			_exit(getppid() == self ? 21 : 22);
		}
		_exit(is);
	}
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d %d\n", is, WEXITSTATUS(how));
	close(ends[1]);
	OK(waitpid(-1, &how, 0));
	printf("%d\n", WEXITSTATUS(how));
	return 0;
}
