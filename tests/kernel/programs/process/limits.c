/* getrlimit(2): soft limits up to the hard one, EINVAL above it; prlimit of a child; limits are inherited. */
#include "../observe.h"
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	struct rlimit now, set = {50, 60};
	char c;
	int how, ends[2];

	SAY(setrlimit(RLIMIT_NOFILE, &set));
	set.rlim_cur = 70;
	SAY(setrlimit(RLIMIT_NOFILE, &set));
	SAY(setrlimit(99, &set));
	MUST(!pipe(ends));
	pid_t pid = fork();
	if (!pid) {
		close(ends[1]);
		MUST(read(ends[0], &c, 1) == 0 && !getrlimit(RLIMIT_NOFILE, &now));
		_exit((int)now.rlim_cur);
	}
	SAY(prlimit(pid, RLIMIT_NOFILE, NULL, &now));
	printf("%lu %lu\n", now.rlim_cur, now.rlim_max);
	set = (struct rlimit){40, 60};
	SAY(prlimit(pid, RLIMIT_NOFILE, &set, &now));
	close(ends[1]);
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	SAY(prlimit(pid, RLIMIT_NOFILE, NULL, &now));
	SAY(dup2(1, 50));
	SAY(dup2(1, 49));
	return 0;
}
