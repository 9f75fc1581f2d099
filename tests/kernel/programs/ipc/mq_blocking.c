/* mq_overview(7): a full queue holds the sender, an empty one the receiver, in the order of priorities; the name is a file. */
#include "../observe.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sys/wait.h>

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
	char name[40], some[8] = "";
	int status, sum = 0;
	unsigned priority;
	mqd_t queue;

	snprintf(name, sizeof name, "/observe-b-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attr);
	if (queue == -1 && (errno == ENOSYS || errno == EMFILE))
		skip("POSIX message queues");
	MUST(queue >= 0);
	pid_t child = fork();
	if (!child) {
		for (int i = 0; i < 20; i++) {
			some[0] = (char)i;
			MUST(!mq_send(queue, some, 1, 5));
		}
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		MUST(mq_receive(queue, some, 8, &priority) == 1 && priority == 5 && some[0] == i);
		sum += some[0];
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("sum %d\n", sum);
	mqd_t only = mq_open(name, O_RDONLY | O_NONBLOCK);
	SAY(mq_send(only, "x", 1, 0));
	SAY(mq_receive(only, some, 8, NULL));
	SAY(fcntl(only, F_GETFD));
	SAY(mq_close(only));
	SAY(mq_unlink(name));
	return 0;
}
