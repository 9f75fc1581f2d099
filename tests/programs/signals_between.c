/* A signal that comes while the program computes, shortly before calls that do not wait, or need not: none of them is
 * interrupted, though its handler was installed without SA_RESTART. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 40, TURNS = 60000 };

static volatile sig_atomic_t heard;
static volatile long turns;

static void on_alarm(int sig)
{
	(void)sig;
	heard++;
}

/* Longer at each try: the signal has come by then, at one of them just before. */
static void compute(int try)
{
	struct itimerval soon = {{0, 0}, {0, 500}};
	if (setitimer(ITIMER_REAL, &soon, NULL))
		abort();
	for (turns = 0; turns < (long)try * TURNS;)
		turns++;
}

static void failed(const char *call, int try)
{
	printf("%s, try %d: errno %d\n", call, try, errno);
	exit(1);
}

static void pipes(int try)
{
	struct stat st;
	int fds[2];
	char c = 'x';
	if (pipe(fds))
		failed("pipe", try);
	compute(try);
	if (write(fds[1], &c, 1) != 1)
		failed("write", try);
	compute(try);
	if (close(fds[1]))
		failed("close", try);
	compute(try);
	if (fstat(fds[0], &st))
		failed("fstat", try);
	if (read(fds[0], &c, 1) != 1)
		failed("read", try);
	compute(try);
	if (read(fds[0], &c, 1) != 0) /* its end: the other one is closed */
		failed("read at the end", try);
	if (close(fds[0]))
		failed("close", try);
}

static void much(int try)
{
	static char block[65536]; /* as much as a pipe holds */
	struct pollfd readable;
	int fds[2];
	if (pipe(fds))
		failed("pipe", try);
	compute(try);
	if (write(fds[1], block, sizeof(block)) != sizeof(block))
		failed("write of 64 KiB", try);
	readable = (struct pollfd){.fd = fds[0], .events = POLLIN};
	compute(try);
	if (poll(&readable, 1, -1) != 1)
		failed("poll", try);
	if (close(fds[0]) || close(fds[1]))
		failed("close", try);
}

static void queues(int try)
{
	struct sembuf up = {.sem_op = 1}, down = {.sem_op = -1};
	struct {
		long type;
		char text[8];
	} message = {1, "seven"};
	const int sem = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600);
	compute(try);
	if (semop(sem, &up, 1))
		failed("semop, up", try);
	compute(try);
	if (semop(sem, &down, 1))
		failed("semop, down", try);
	compute(try);
	if (msgsnd(queue, &message, sizeof(message.text), 0))
		failed("msgsnd", try);
	compute(try);
	if (msgrcv(queue, &message, sizeof(message.text), 0, 0) != sizeof(message.text))
		failed("msgrcv", try);
	if (semctl(sem, 0, IPC_RMID) || msgctl(queue, IPC_RMID, NULL))
		failed("IPC_RMID", try);
}

static void sockets(int try)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const int listening = socket(AF_UNIX, SOCK_STREAM, 0), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "signals-between-%d-%d", getpid(), try);
	const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1));
	if (bind(listening, (struct sockaddr *)&name, size) || listen(listening, 1))
		failed("listen", try);
	compute(try);
	if (connect(fd, (struct sockaddr *)&name, size))
		failed("connect", try);
	if (close(fd) || close(listening))
		failed("close", try);
}

static void others(int try)
{
	const int file = fileno(tmpfile());
	compute(try);
	if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
		failed("waitpid", try);
	compute(try);
	if (flock(file, LOCK_EX))
		failed("flock", try);
	compute(try);
	if (sched_yield())
		failed("sched_yield", try);
	if (close(file))
		failed("close", try);
}

int main(void)
{
	struct sigaction how = {.sa_handler = on_alarm};
	if (sigaction(SIGALRM, &how, NULL))
		return 1;
	for (int try = 0; try < TRIES; try++) {
		pipes(try);
		much(try);
		queues(try);
		sockets(try);
		others(try);
	}
	printf("heard %s\n", heard > TRIES ? "many" : "few");
	return 0;
}
