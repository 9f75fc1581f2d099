/* socket(2): a connection is shared over fork, goes on over execve unless it is close-on-exec, and ends with the last close. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	int pair[2], gone[2], status;
	char some[16] = "", numbers[2][8];

	if (argc > 2) {
		SAY(write(atoi(argv[1]), "from exec", 9));
		SAY(write(atoi(argv[2]), "x", 1));
		return 0;
	}
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gone));
	pid_t child = fork();
	MUST(child >= 0);
	if (!child) {
		snprintf(numbers[0], 8, "%d", pair[1]);
		snprintf(numbers[1], 8, "%d", gone[1]);
		execl("/proc/self/exe", argv[0], numbers[0], numbers[1], NULL);
		_exit(1);
	}
	close(pair[1]);
	MUST(!waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT));
	SAY(read(pair[0], some, 16));
	printf("%s\n", some);
	SAY(read(pair[0], some, 16));
	MUST(waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
	child = fork();
	if (!child) {
		close(gone[0]);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	SAY(send(gone[0], "still", 5, 0));
	SAY(recv(gone[1], some, 16, 0));
	return 0;
}
