/* personality(2): 0xffffffff only asks; ADDR_NO_RANDOMIZE stays over fork and exec. */
#include "../observe.h"
#include <sys/personality.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	if (argc > 1)
		return !(personality(0xffffffff) & ADDR_NO_RANDOMIZE);
	const unsigned before = (unsigned)personality(0xffffffff);
	SAY(personality(before | ADDR_NO_RANDOMIZE) == (int)before);
	printf("%d\n", !!(personality(0xffffffff) & ADDR_NO_RANDOMIZE));
	fflush(stdout);
	int how;
	pid_t pid = fork();
	if (!pid) {
		execl(argv[0], argv[0], "again", NULL);
		_exit(9);
	}
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%d\n", WEXITSTATUS(how));
	return 0;
}
