/* Children that had ended before getppid(), which marks the place: one killed, one that was waited for and left bytes
 * in pipes, one of whose end the parent has not heard yet; and one that lives, of another program, with what it shares. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 100000, FIRST = 5, LIVED = 7 };

static volatile sig_atomic_t ends, asked;
static siginfo_t newest;
static char many[MANY];

#define CHECK(holds) \
	do { \
		if (!(holds)) { \
			printf("line %d: %s: %s\n", __LINE__, #holds, strerror(errno)); \
			exit(1); \
		} \
	} while (0)

static void on_end(int sig, siginfo_t *info, void *context)
{
	ends++;
	newest = *info;
}

static void on_ask(int sig)
{
	asked++;
}

/* Waits on its queue for the end of `down`; the counter and the file are everybody's. */
static int lives(int poll, int down, int counter, int file, int out)
{
	struct epoll_event event;
	uint64_t value;
	char text[64];
	CHECK(read(file, text, FIRST) == FIRST && read(counter, &value, 8) == 8 && value == 1);
	kill(getppid(), SIGUSR1);
	CHECK(epoll_wait(poll, &event, 1, -1) == 1 && event.data.fd == down && read(down, text, 1) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(read(counter, &value, 8) == 8 && value == 1);
	CHECK(read(file, text, sizeof(text)) == 4);
	CHECK(write(out, " after", 6) == 6);
	return LIVED;
}

static void start(char *program, int down[2], int counter, int file)
{
	char words[5][16];
	int poll = epoll_create1(0), out = open("out", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	struct epoll_event event = {.events = EPOLLIN | EPOLLHUP, .data.fd = down[0]};
	close(down[1]);
	CHECK(epoll_ctl(poll, EPOLL_CTL_ADD, down[0], &event) == 0);
	CHECK(write(out, "before", 6) == 6);
	for (int i = 0; i < 5; i++)
		snprintf(words[i], 16, "%d", (int[]){poll, down[0], counter, file, out}[i]);
	execl(program, program, words[0], words[1], words[2], words[3], words[4], NULL);
	_exit(9);
}

int main(int argc, char **argv)
{
	int up[2], big[2], gone[2], down[2], status, before;
	char text[16];
	uint64_t value;
	sigset_t chld, usr, none;
	if (argc == 6)
		return lives(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
	int counter = eventfd(2, EFD_SEMAPHORE), file = open("input", O_RDONLY);
	CHECK(file >= 0 && !pipe(up) && !pipe(big) && !pipe2(gone, O_CLOEXEC) && !pipe(down));
	CHECK(fcntl(big[0], F_SETPIPE_SZ, 1 << 18) > MANY);
	sigaction(SIGCHLD, &(struct sigaction){.sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_RESTART}, NULL);
	signal(SIGUSR1, on_ask);
	sigemptyset(&none);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);

	sigprocmask(SIG_BLOCK, &chld, NULL);
	pid_t killed = fork();
	if (!killed) {
		raise(SIGTERM);
		_exit(9);
	}
	while (!ends)
		sigsuspend(&none);
	pid_t waited = fork();
	if (!waited) {
		memset(many, 'm', MANY);
		_exit(write(up[1], "ghost", 5) == 5 && write(big[1], many, MANY) == MANY ? 3 : 9);
	}
	while (ends < 2)
		sigsuspend(&none);
	CHECK(waitpid(waited, &status, 0) == waited && WEXITSTATUS(status) == 3);

	sigprocmask(SIG_BLOCK, &usr, NULL);
	pid_t alive = fork();
	if (!alive)
		start(argv[0], down, counter, file);
	close(gone[1]);
	close(down[0]);
	while (!asked)
		sigsuspend(&none);
	CHECK(fcntl(up[0], F_SETFL, O_NONBLOCK) == 0);
	pid_t unheard = fork();
	if (!unheard)
		_exit(4);
	CHECK(waitid(P_PID, unheard, &newest, WEXITED | WNOWAIT) == 0);
	before = ends;
	getppid();

	memset(&newest, 0, sizeof(newest));
	sigprocmask(SIG_UNBLOCK, &chld, NULL);
	CHECK(ends == before + 1 && asked == 1);
	CHECK(newest.si_pid == unheard && newest.si_status == 4 && newest.si_code == CLD_EXITED);
	CHECK(read(up[0], text, sizeof(text)) == 5 && !memcmp(text, "ghost", 5));
	CHECK(read(up[0], text, sizeof(text)) == -1 && errno == EAGAIN);
	for (int left = MANY, n; left; left -= n)
		CHECK((n = read(big[0], many, left)) > 0 && many[n - 1] == 'm');
	CHECK(read(gone[0], text, 1) == 0);
	CHECK(write(counter, &(uint64_t){2}, 8) == 8);
	close(down[1]);
	CHECK(waitpid(alive, &status, 0) == alive && WEXITSTATUS(status) == LIVED);
	CHECK(fcntl(counter, F_SETFL, O_NONBLOCK) == 0 && read(counter, &value, 8) == -1 && errno == EAGAIN);
	CHECK(lseek(file, 0, SEEK_CUR) == FIRST + 4);
	CHECK(waitpid(killed, &status, 0) == killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CHECK(waitpid(unheard, &status, 0) == unheard && WEXITSTATUS(status) == 4);
	CHECK(wait(&status) == -1 && errno == ECHILD);
	puts("all as they were");
	return 0;
}
