/* Parent and child share open files by one description: a file that both read, one that both write, a timer and an epoll.
 * Each step is after the other's, by pipes; getppid(2) marks them. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int up[2], down[2];

static void pass(int to)
{
	if (write(to, "x", 1) != 1)
		exit(10);
}

static void await(int from)
{
	char c;
	if (read(from, &c, 1) != 1)
		exit(11);
}

static void part(int in, int out, const char *who)
{
	char bytes[4] = "";
	if (read(in, bytes, 3) != 3 || dprintf(out, "%s read %s\n", who, bytes) < 0)
		exit(12);
}

static void child(int in, int out, int timer)
{
	uint64_t expired = 0;
	for (int i = 0; i < 2; i++) {
		await(down[0]);
		part(in, out, "child");
		if (i && lseek(in, -3, SEEK_CUR) < 0)
			exit(13);
		pass(up[1]);
	}
	if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
		exit(14);
	pass(up[1]);
	await(down[0]);
	exit((int)expired + 2);
}

int main(void)
{
	struct itimerspec soon = {.it_value = {.tv_nsec = 300000000}};
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 77}, found;
	char text[200] = "";
	uint64_t none;
	int status, in = open("letters", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int out = open("words", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), set = epoll_create1(0);
	if (pwrite(in, "abcdefghijklmnop", 16, 0) != 16 || pipe(up) || pipe(down))
		return 1;
	if (epoll_ctl(set, EPOLL_CTL_ADD, up[0], &event))
		return 2;
	pid_t pid = fork();
	if (!pid) {
		if (fcntl(timer, F_SETFL, 0))
			return 3;
		child(in, out, timer);
	}
	for (int i = 0; i < 2; i++) {
		part(in, out, "parent");
		getppid();
		pass(down[1]);
		if (epoll_wait(set, &found, 1, -1) != 1 || found.data.u32 != 77)
			return 4;
		await(up[0]);
	}
	part(in, out, "parent");
	if (timerfd_settime(timer, 0, &soon, NULL))
		return 5;
	getppid();
	await(up[0]);
	getppid();
	if (fcntl(timer, F_SETFL, O_NONBLOCK) || read(timer, &none, sizeof(none)) > 0)
		return 6; /* it went off once */
	pass(down[1]);
	if (waitpid(pid, &status, 0) != pid || pread(out, text, sizeof(text) - 1, 0) < 0)
		return 7;
	getppid();
	printf("%sstatus %d, at %ld and %ld\n", text, WEXITSTATUS(status), (long)lseek(in, 0, SEEK_CUR),
	       (long)lseek(out, 0, SEEK_CUR));
	return 0;
}
