/* fifo(7): an open waits for the other end; without waiting a reader may come first, a writer gets ENXIO; O_RDWR needs nobody. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

int main(void)
{
	int in, out, both, status;
	char some[16];

	SAY(mkfifo("fifo", 0600));
	SAY(mkfifo("fifo", 0600));
	OK(open("fifo", O_WRONLY | O_NONBLOCK));
	in = open("fifo", O_RDONLY | O_NONBLOCK);
	MUST(in >= 0);
	SAY(read(in, some, 1));
	struct pollfd one = {in, POLLIN, 0};
	SAY(poll(&one, 1, 0));
	out = open("fifo", O_WRONLY);
	SAY(read(in, some, 1));
	close(out);
	SAY(poll(&one, 1, 0));
	printf("%x\n", one.revents);
	close(in);
	both = open("fifo", O_RDWR);
	SAY(write(both, "self", 4));
	SAY(read(both, some, 4));
	close(both);
	pid_t child = fork();
	if (!child) {
		out = open("fifo", O_WRONLY);
		SAY(write(out, "from the child", 14));
		_exit(0);
	}
	in = open("fifo", O_RDONLY);
	MUST(waitpid(child, &status, 0) == child);
	SAY(read(in, some, 16));
	SAY(read(in, some, 16));
	SAY(unlink("fifo"));
	return 0;
}
