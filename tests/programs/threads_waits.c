/* Calls that wait and answer into memory, each in a thread of its own while another one makes events.  The
 * answers must be where the log has them: not before, not after. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int waits = 9;
static int fds[2], queue;
static pid_t child;

#define WAIT(name, ...) \
	static void *name(void *arg) \
	{ \
		__VA_ARGS__; \
		__atomic_fetch_sub(&waits, 1, __ATOMIC_SEQ_CST); \
		return NULL; \
	}

/* the kernel writes what is left of the time */
WAIT(in_select, struct timeval left = {.tv_usec = 3000}; select(0, NULL, NULL, NULL, &left))
WAIT(in_pselect, fd_set set; FD_ZERO(&set); FD_SET(fds[0], &set); struct timeval left = {.tv_sec = 20};
     printf("select %d\n", select(fds[0] + 1, &set, NULL, NULL, &left)))
WAIT(in_ppoll, struct timespec left = {.tv_nsec = 4000000}; struct pollfd none = {.fd = -1};
     ppoll(&none, 1, &left, NULL))
WAIT(in_poll, struct pollfd p = {.fd = fds[0], .events = POLLIN}; printf("poll %d\n", poll(&p, 1, 20000)))
WAIT(in_sleep, struct timespec left = {.tv_nsec = 2000000}; clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left))
WAIT(in_wait, int status = 0; struct rusage used; wait4(child, &status, 0, &used);
     printf("child %d\n", WEXITSTATUS(status)))
WAIT(
	in_msgrcv,
	struct {
		long type;
		char text[64];
	} m;
	printf("message %zd\n", msgrcv(queue, &m, 64, 0, 0)))
WAIT(in_recv, char text[64]; struct timeval limit = {.tv_usec = 500000}; int s[2];
     socketpair(AF_UNIX, SOCK_STREAM, 0, s); setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
     printf("recv %zd\n", recv(s[0], text, sizeof(text), 0)))
WAIT(in_epoll, struct epoll_event e = {.events = EPOLLIN}; int fd = epoll_create1(0);
     epoll_ctl(fd, EPOLL_CTL_ADD, fds[0], &e); printf("epoll %d\n", epoll_wait(fd, &e, 1, 20000)))

static void *speak(void *arg)
{
	struct {
		long type;
		char text[8];
	} m = {.type = 1, .text = "hello"};
	for (int i = 0; waits; i++) {
		getppid();
		if (i == 200) {
			msgsnd(queue, &m, 6, 0);
			if (write(fds[1], "x", 1) != 1)
				return NULL;
		}
	}
	return NULL;
}

int main(void)
{
	void *(*all[])(void *) = {in_select, in_pselect, in_ppoll, in_poll,  in_sleep,
				  in_wait,   in_msgrcv,  in_recv,  in_epoll, speak};
	pthread_t threads[10];
	setvbuf(stdout, NULL, _IONBF, 0);
	queue = msgget(IPC_PRIVATE, 0600);
	if (pipe(fds) || queue < 0)
		return 1;
	if ((child = fork()) == 0) {
		usleep(3000);
		_exit(5);
	}
	for (int i = 0; i < 10; i++)
		pthread_create(&threads[i], NULL, all[i], NULL);
	for (int i = 0; i < 10; i++)
		pthread_join(threads[i], NULL);
	msgctl(queue, IPC_RMID, NULL);
	puts("done");
}
