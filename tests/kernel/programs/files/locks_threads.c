/* fcntl_locking(2): F_SETLKW waits in one thread until another process unlocks; a signal ends the wait with EINTR. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static int fd;

static void nothing(int number)
{
	(void)number;
}

static void *waits(void *arg)
{
	struct flock lock = {.l_type = F_RDLCK, .l_start = 5, .l_len = 1};

	(void)arg;
	return (void *)(long)fcntl(fd, F_SETLKW, &lock);
}

int main(void)
{
	struct sigaction action = {.sa_handler = nothing};
	struct flock lock = {.l_type = F_WRLCK, .l_start = 0, .l_len = 10};
	int out[2], in[2], status;
	pthread_t thread;
	void *result;
	char byte;

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !pipe(out) && !pipe(in));
	pid_t child = fork();
	if (!child) {
		MUST(!fcntl(fd, F_SETLK, &lock) && write(out[1], "x", 1) == 1 && read(in[0], &byte, 1) == 1);
		lock.l_type = F_UNLCK;
		_exit(fcntl(fd, F_SETLK, &lock) ? 1 : 0);
	}
	MUST(read(out[0], &byte, 1) == 1);
	lock.l_type = F_WRLCK;
	SAY(fcntl(fd, F_SETLK, &lock));
	MUST(!sigaction(SIGALRM, &action, NULL));
	ualarm(20000, 20000); /* again and again: the first may come before the wait */
	SAY(fcntl(fd, F_SETLKW, &lock));
	ualarm(0, 0);
	MUST(!pthread_create(&thread, NULL, waits, NULL) && write(in[1], "y", 1) == 1);
	MUST(!pthread_join(thread, &result));
	SAY((long)result);
	MUST(waitpid(child, &status, 0) == child);
	SAY(WEXITSTATUS(status));
	return 0;
}
