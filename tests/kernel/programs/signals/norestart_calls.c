/* signal(7): poll, select, epoll_wait, nanosleep, pause, semop, msgrcv and others fail with EINTR even with SA_RESTART. */
#include "../observe.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <time.h>

static int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void soon(void)
{
	struct itimerval often = {{.tv_usec = 20000}, {.tv_usec = 20000}};

	handled = 0;
	MUST(!setitimer(ITIMER_REAL, &often, NULL));
}

#define TRY(call) \
	do { \
		soon(); \
		SAY(call); \
		printf("handled %d\n", handled > 0); \
	} while (0)

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct timespec long_time = {100, 0}, left;
	struct timeval long_val = {100, 0};
	struct epoll_event event;
	struct sembuf down = {0, -1, 0};
	struct {
		long type;
		char text[8];
	} message;
	sigset_t none;
	int fds[2], epoll = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600);
	struct pollfd one;
	fd_set set;

	MUST(!sigaction(SIGALRM, &action, NULL) && !pipe(fds) && epoll >= 0 && sem >= 0 && queue >= 0);
	one = (struct pollfd){fds[0], POLLIN, 0};
	sigemptyset(&none);
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	TRY(poll(&one, 1, -1));
	TRY(poll(&one, 1, 100000));
	TRY(ppoll(&one, 1, &long_time, &none));
	TRY(select(fds[0] + 1, &set, NULL, NULL, &long_val));
	TRY(pselect(fds[0] + 1, &set, NULL, NULL, &long_time, &none));
	TRY(epoll_wait(epoll, &event, 1, -1));
	TRY(epoll_pwait(epoll, &event, 1, 100000, &none));
	TRY(nanosleep(&long_time, &left));
	printf("left %d\n", left.tv_sec == 99);
	errno = 0;
	soon();
	printf("%s\n", strerrorname_np(clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, &left)));
	TRY(usleep(10000000));
	TRY(pause());
	TRY(sigsuspend(&none));
	TRY(semop(sem, &down, 1));
	TRY(semtimedop(sem, &down, 1, &long_time));
	TRY(msgrcv(queue, &message, 8, 0, 0));
	TRY(sigtimedwait(&none, NULL, &long_time));
	SAY(semctl(sem, 0, IPC_RMID));
	SAY(msgctl(queue, IPC_RMID, NULL));
	return 0;
}
