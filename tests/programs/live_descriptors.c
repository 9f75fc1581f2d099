/* For restarts: descriptors changed by calls that few programs make.  What it prints at the end, after getppid(2), shows
 * what they were then.  live_descriptors: in an empty directory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MUCH = 200000, FILES = 40 };

static void need(int it)
{
	if (it < 0) {
		perror("live_descriptors");
		exit(1);
	}
}

static int size_of(const char *path)
{
	struct stat st;
	need(stat(path, &st));
	return (int)st.st_size;
}

static int hundred(const char *path)
{
	char bytes[100];
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	memset(bytes, 'x', sizeof(bytes));
	need(fd);
	need((int)write(fd, bytes, sizeof(bytes)));
	return fd;
}

static sigset_t only(int sig)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static int listed(int dir, size_t room)
{
	char entries[4096];
	int names = 0;
	for (long n = 1, at; n > 0;) {
		n = syscall(SYS_getdents, dir, entries, room);
		need((int)n);
		for (at = 0; at < n; names++)
			at += *(unsigned short *)(entries + at + 16);
		if (room < sizeof(entries))
			break;
	}
	return names;
}

int main(void)
{
	static char much[MUCH];
	char c[3] = "", name[32];
	int big[2], small[2], watched[2], stays = hundred("stays"), null = open("/dev/null", O_WRONLY);
	int on = 1, set = epoll_create1(0), there = 0;
	struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT};
	sigset_t first = only(SIGUSR1), both = first;
	struct signalfd_siginfo got;

	need(stays | null | set);
	close(hundred("gone"));
	need(truncate("stays", 10));
	need(truncate("gone", 20));

	need(pipe(big) | pipe(small) | pipe(watched));
	need(fcntl(big[1], F_SETPIPE_SZ, 1 << 20));
	for (int i = 0; i < MUCH; i++)
		much[i] = (char)(i * 7);
	need((int)write(big[1], much, MUCH));
	need(ioctl(small[0], FIONBIO, &on) | ioctl(small[0], FIOCLEX) | ioctl(small[1], FIOCLEX) |
	     ioctl(small[1], FIONCLEX));

	const int in = open("numbers", O_RDWR | O_CREAT | O_TRUNC, 0644);
	need((int)write(in, "0123456789", 10));
	close(in);
	const int from = open("numbers", O_RDONLY);
	need(from);
	need((int)sendfile(null, from, NULL, 4));
	struct iovec parts[16] = {{(char *)"a", 1}, {(char *)"b", 1}};
	need((int)syscall(SYS_pwritev2, null, parts, from < 16 ? from : 3, -1, -1, 0)); /* as many as that descriptor's number */
	close(null);

	need(write(watched[1], "w", 1) == 1 ? epoll_ctl(set, EPOLL_CTL_ADD, watched[0], &once) : -1);
	need(epoll_wait(set, &once, 1, 0) == 1 ? 0 : -1);

	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, NULL);
	const int signals = signalfd(-1, &first, SFD_NONBLOCK);
	need(signals);
	raise(SIGUSR1);
	struct iovec halves[2] = {{&got, 64}, {(char *)&got + 64, sizeof(got) - 64}};
	need(readv(signals, halves, 2) == sizeof(got) ? 0 : -1);
	need(signalfd(signals, &both, 0));

	need(mkdir("many", 0755));
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		close(hundred(name));
	}
	const int dir = open("many", O_RDONLY | O_DIRECTORY);
	const int some = listed(dir, 256);
	for (int i = 0; i < 3; i++)
		getppid();

	raise(SIGUSR2);
	printf("sizes %d %d\n", size_of("stays"), size_of("gone"));
	printf("pipe %d", fcntl(big[0], F_GETPIPE_SZ));
	need(ioctl(big[0], FIONREAD, &there));
	unsigned sum = 0;
	while (there > 0) {
		const ssize_t n = read(big[0], much, MUCH);
		need((int)n);
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)much[i];
		there -= (int)n;
	}
	printf(" with %u\n", sum);
	const int none = (int)read(small[0], c, 1);
	printf("small %d %d", none, errno == EAGAIN);
	printf(" %d %d %d\n", fcntl(small[0], F_GETFD), fcntl(small[1], F_GETFD), fcntl(small[1], F_GETFL) & O_NONBLOCK);
	need((int)read(from, c, 1));
	printf("next %s\n", c);
	printf("events %d\n", epoll_wait(set, &once, 1, 0));
	for (int i = 0; i < 2; i++) {
		got.ssi_signo = 0;
		const int n = (int)read(signals, &got, sizeof(got));
		printf("signal %d %u\n", n, got.ssi_signo);
	}
	printf("names %d\n", some + listed(dir, 4096));
	return 0;
}
