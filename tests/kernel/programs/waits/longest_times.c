/* time(7), nanosleep(2): a time-out that nanoseconds cannot express is a wait without end, not one without wait. */
#include "../observe.h"
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t rung;

static void on_alarm(int sig)
{
	(void)sig;
	rung++;
}

/* Several times, so that one comes while the call waits. */
static void ring(int every_us)
{
	const struct itimerval soon = {.it_value = {0, every_us}, .it_interval = {0, every_us}};

	rung = 0;
	MUST(!setitimer(ITIMER_REAL, &soon, NULL));
}

#define INTERRUPTED(call) \
	do { \
		ring(5000); \
		SAY(call); \
		MUST(rung || errno != EINTR); \
		ring(0); \
	} while (0)

int main(void)
{
	static const time_t seconds[] = {INT64_MAX, INT64_MAX / 1000000000 * 2 + 2, 1ll << 54, 20000000000};
	int pair[2], word = 0, many = epoll_create1(0), sems = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf one = {0, -1, 0};
	struct epoll_event got;
	sigset_t usr1;
	char byte;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	MUST(!sigprocmask(SIG_BLOCK, &usr1, NULL));
	MUST(!sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, NULL));
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (unsigned i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		struct timespec t = {seconds[i], 999999999}, left = t;
		struct timeval v = {seconds[i], 999999};
		INTERRUPTED(sigtimedwait(&usr1, NULL, &t));
		INTERRUPTED(ppoll(NULL, 0, &t, NULL));
		INTERRUPTED(pselect(0, NULL, NULL, NULL, &t, NULL));
		INTERRUPTED(select(0, NULL, NULL, NULL, &v));
		INTERRUPTED(epoll_pwait2(many, &got, 1, &t, NULL));
		INTERRUPTED(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t));
		INTERRUPTED(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &t, NULL, 1));
		INTERRUPTED(nanosleep(&t, &left));
		MUST(left.tv_sec > 1000000000);
		INTERRUPTED(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL));
		INTERRUPTED(syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL));
		INTERRUPTED(semtimedop(sems, &one, 1, &t));
		v = (struct timeval){seconds[i], 0};
		SAY(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &v, sizeof(v)));
		INTERRUPTED(read(pair[0], &byte, 1));
	}
	MUST(!semctl(sems, 0, IPC_RMID));
	return 0;
}
