/* signalfd(2): a descriptor made while another thread waits in a call reads what is sent at once, though that thread has the signal blocked, too. */
#include "../observe.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

static int ends[2];
static volatile pid_t other;
static pthread_barrier_t begun;

static void *waits(void *arg)
{
	char byte;

	(void)arg;
	other = gettid();
	pthread_barrier_wait(&begun);
	MUST(read(ends[0], &byte, 1) == 1);
	return NULL;
}

/* Until the other thread waits in read(2): proc_pid_stat(5). */
static void await_wait(void)
{
	char path[64], line[512], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", other);
	while (state != 'S') {
		FILE *file = fopen(path, "r");
		MUST(file && fgets(line, sizeof(line), file));
		state = strrchr(line, ')')[2];
		fclose(file);
	}
}

int main(void)
{
	sigset_t set;
	struct signalfd_siginfo info;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	MUST(!pthread_sigmask(SIG_BLOCK, &set, NULL) && !pipe(ends) && !pthread_barrier_init(&begun, NULL, 2));
	MUST(!pthread_create(&thread, NULL, waits, NULL));
	pthread_barrier_wait(&begun);
	await_wait();
	int fd = signalfd(-1, &set, SFD_NONBLOCK);
	MUST(fd >= 0);
	for (int round = 0; round < 4; round++) {
		MUST(!kill(getpid(), SIGUSR1));
		struct pollfd one = {.fd = fd, .events = POLLIN};
		SAY(poll(&one, 1, 20000));
		SAY(read(fd, &info, sizeof(info)));
		printf("%u %d\n", info.ssi_signo, info.ssi_code);
		MUST(!sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = round}) &&
		     !sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = round + 10}));
		SAY(read(fd, &info, sizeof(info)));
		printf("%d %d\n", info.ssi_int, info.ssi_code);
		SAY(read(fd, &info, sizeof(info)));
		printf("%d\n", info.ssi_int);
	}
	MUST(write(ends[1], "", 1) == 1 && !pthread_join(thread, NULL));
	return 0;
}
