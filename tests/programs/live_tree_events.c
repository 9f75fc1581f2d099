/* A parent and its child wake each other: `counters`, by eventfds that they share; `signals`, the child reads those of its
 * parent from a signalfd.  getppid() marks places to restart at. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 4 };

static int ended(int sum)
{
	int status;
	if (wait(&status) < 0)
		return 5;
	printf("%d, status %d\n", sum, WEXITSTATUS(status));
	return 0;
}

static int counters(void)
{
	const int to = eventfd(0, EFD_SEMAPHORE), from = eventfd(0, 0);
	uint64_t value;
	int sum = 0;
	if (!fork()) {
		for (uint64_t i = 1; i <= TURNS; i++)
			if (read(to, &value, sizeof(value)) < 0 || getppid() < 0 || write(from, &i, sizeof(i)) < 0)
				_exit(1);
		_exit(3);
	}
	for (int i = 0; i < TURNS; i++) {
		value = 1;
		if (write(to, &value, sizeof(value)) < 0 || getppid() < 0 || read(from, &value, sizeof(value)) < 0)
			return 2;
		sum += (int)value;
		printf("%d\n", sum);
		fflush(stdout);
	}
	return ended(sum);
}

static int signals(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int up[2];
	char c = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &set, NULL) || pipe(up))
		return 2;
	const int in = signalfd(-1, &set, 0);
	const pid_t child = fork();
	for (int i = 0; !child && i < TURNS; i++)
		if (read(in, &info, sizeof(info)) < 0 || getppid() < 0 || write(up[1], &c, 1) != 1)
			_exit(1);
	if (!child)
		_exit(4);
	for (int i = 0; i < TURNS; i++) {
		if (kill(child, SIGUSR1) || read(up[0], &c, 1) != 1)
			return 3;
		printf("%d\n", i);
		fflush(stdout);
		getppid();
	}
	return ended(TURNS);
}

int main(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], "counters") ? counters() : signals();
}
