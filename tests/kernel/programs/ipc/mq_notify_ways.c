/* mq_notify(3): a message in an empty queue sends a signal or runs a function, once; EBUSY for another process. */
#include "../observe.h"
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

static sem_t done;

static void function(union sigval value)
{
	printf("function %d another thread %d\n", value.sival_int, gettid() != getpid());
	sem_post(&done);
}

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 16};
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2, .sigev_value.sival_int = 88};
	char name[40], some[16];
	siginfo_t info;
	sigset_t set;
	int status;
	mqd_t queue;

	snprintf(name, sizeof name, "/observe-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (queue == -1 && (errno == ENOSYS || errno == EMFILE))
		skip("POSIX message queues");
	MUST(queue >= 0 && !mq_unlink(name) && !sem_init(&done, 0, 0));
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	SAY(mq_notify(queue, &event));
	SAY(mq_notify(queue, &event));
	pid_t child = fork();
	if (!child) {
		SAY(mq_notify(queue, &event));
		SAY(mq_notify(queue, NULL));
		SAY(mq_send(queue, "c", 1, 0));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	sigdelset(&set, SIGCHLD);
	SAY(sigwaitinfo(&set, &info));
	printf("code %d value %d pid %d\n", info.si_code, info.si_value.sival_int, info.si_pid == child);
	SAY(mq_notify(queue, &event));
	SAY(mq_send(queue, "d", 1, 0));
	sigpending(&set);
	printf("pending %d\n", sigismember(&set, SIGRTMIN + 2));
	struct pollfd one = {queue, POLLIN | POLLOUT, 0};
	SAY(poll(&one, 1, 0));
	printf("%x\n", one.revents);
	SAY(mq_notify(queue, NULL));
	MUST(mq_receive(queue, some, 16, NULL) == 1 && mq_receive(queue, some, 16, NULL) == 1);
	event = (struct sigevent){
		.sigev_notify = SIGEV_THREAD, .sigev_notify_function = function, .sigev_value.sival_int = 5};
	SAY(mq_notify(queue, &event));
	MUST(!mq_send(queue, "e", 1, 0));
	while (sem_wait(&done))
		;
	event.sigev_notify = SIGEV_NONE;
	SAY(mq_notify(queue, &event));
	SAY(mq_notify(0, &event));
	return 0;
}
