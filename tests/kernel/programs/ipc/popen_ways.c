/* popen(3), system(3), posix_spawn(3): a shell's output, input and status, SIGCHLD blocked and SIGINT ignored meanwhile. */
#include "../observe.h"
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(void)
{
	char line[64], *arguments[] = {"sh", "-c", "echo spawned >&9; exit 4", NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], status;
	pid_t child;
	FILE *stream;

	stream = popen("echo one; echo two; exit 3", "r");
	MUST(stream);
	while (fgets(line, sizeof line, stream))
		printf("read %s", line);
	SAY(WEXITSTATUS(pclose(stream)));
	fflush(stdout);
	stream = popen("cat", "w");
	MUST(stream && fputs("through cat\n", stream) >= 0);
	SAY(pclose(stream));
	SAY(WEXITSTATUS(system("exit 9")));
	SAY(system(NULL) != 0);
	status = system("kill -TERM $$");
	printf("signal %d\n", WTERMSIG(status));
	MUST(!pipe(fds));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 9);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	SAY(posix_spawnp(&child, "sh", &actions, NULL, arguments, environ));
	MUST(waitpid(child, &status, 0) == child);
	SAY(read(fds[0], line, sizeof line));
	printf("%.7s exit %d\n", line, WEXITSTATUS(status));
	SAY(posix_spawnp(&child, "no such program", NULL, NULL, arguments, environ));
	return 0;
}
