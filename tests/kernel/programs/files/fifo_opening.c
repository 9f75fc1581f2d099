/* fifo(7): O_NONBLOCK and O_RDWR opens; a blocking open waits for the other end; the end of file comes again and again. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

int main(void)
{
	char text[16];
	int reading, writing, both, status;
	struct stat s;

	MUST(!mkfifo("fifo", 0600));
	SAY(mkfifo("fifo", 0600));
	SAY(open("fifo", O_WRONLY | O_NONBLOCK));
	MUST((reading = open("fifo", O_RDONLY | O_NONBLOCK)) >= 0);
	SAY(read(reading, text, sizeof text));
	struct pollfd polled = {reading, POLLIN, 0};
	SAY(poll(&polled, 1, 0)); /* nobody has written yet: no POLLHUP */
	MUST((writing = open("fifo", O_WRONLY | O_NONBLOCK)) >= 0);
	SAY(read(reading, text, sizeof text));
	SAY(write(writing, "hello", 5));
	MUST(!fstat(reading, &s));
	printf("fifo %d, size %ld\n", S_ISFIFO(s.st_mode), (long)s.st_size);
	SAY(close(writing));
	SAY(poll(&polled, 1, 0));
	printf("%x\n", polled.revents);
	SAY(read(reading, text, sizeof text));
	SAY(read(reading, text, sizeof text));
	SAY(close(reading));
	MUST((both = open("fifo", O_RDWR)) >= 0);
	SAY(write(both, "itself", 6));
	SAY(read(both, text, sizeof text));
	SAY(close(both));
	pid_t child = fork();
	if (!child) {
		writing = open("fifo", O_WRONLY);
		_exit(write(writing, "child", 5) == 5 ? 5 : 1);
	}
	MUST((reading = open("fifo", O_RDONLY)) >= 0);
	MUST(waitpid(child, &status, 0) == child);
	SAY(WEXITSTATUS(status));
	SAY(read(reading, text, sizeof text));
	SAY(read(reading, text, sizeof text));
	SAY(lseek(reading, 0, SEEK_SET));
	SAY(unlink("fifo"));
	return 0;
}
