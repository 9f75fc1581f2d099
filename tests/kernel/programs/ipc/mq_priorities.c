/* mq_overview(7): the oldest message of the highest priority comes first; EAGAIN, EMSGSIZE, ETIMEDOUT, attributes. */
#include "../observe.h"
#include <fcntl.h>
#include <mqueue.h>
#include <time.h>

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 16}, got, old;
	struct timespec past = {1, 0}, wrong = {1, -1};
	char name[40], some[16];
	unsigned priority;
	mqd_t queue;

	snprintf(name, sizeof name, "/observe-%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (queue == -1 && (errno == ENOSYS || errno == EMFILE))
		skip("POSIX message queues");
	MUST(queue >= 0);
	OK(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr));
	SAY(mq_send(queue, "low", 4, 1));
	SAY(mq_send(queue, "high", 5, 30000));
	SAY(mq_send(queue, "low 2", 6, 1));
	SAY(mq_send(queue, "", 0, 0));
	SAY(mq_timedsend(queue, "more", 5, 2, &past));
	SAY(mq_send(queue, "0123456789abcdefg", 17, 2));
	SAY(mq_send(queue, "x", 1, 40000));
	SAY(mq_receive(queue, some, 15, &priority));
	for (int i = 0; i < 4; i++) {
		memset(some, 0, sizeof some);
		SAY(mq_receive(queue, some, 16, &priority));
		printf("%u '%s'\n", priority, some);
	}
	SAY(mq_timedreceive(queue, some, 16, NULL, &past));
	SAY(mq_timedreceive(queue, some, 16, NULL, &wrong));
	attr.mq_flags = O_NONBLOCK;
	SAY(mq_setattr(queue, &attr, &old));
	printf("old flags %lx\n", old.mq_flags);
	SAY(mq_getattr(queue, &got));
	printf("flags %d max %ld size %ld now %ld\n", got.mq_flags == O_NONBLOCK, got.mq_maxmsg, got.mq_msgsize,
	       got.mq_curmsgs);
	SAY(mq_receive(queue, some, 16, NULL));
	SAY(mq_unlink(name));
	SAY(mq_send(queue, "still", 6, 0));
	SAY(mq_unlink(name));
	OK(mq_open(name, O_RDONLY));
	OK(mq_open("no/such/name", O_RDONLY));
	SAY(mq_close(queue));
	SAY(mq_close(queue));
	attr.mq_maxmsg = 0;
	OK(mq_open(name, O_RDWR | O_CREAT, 0600, &attr));
	return 0;
}
