/* System V semaphores and message queues, POSIX message queues. */
#include "calls.h"
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <time.h>

int main(void)
{
	unsigned short values[3] = {1, 2, 3}, got[3] = {0};
	struct semid_ds sd;
	struct seminfo si;
	int sem = semget(IPC_PRIVATE, 3, 0600);
	NEED(sem >= 0 && semctl(sem, 0, SETALL, values) == 0 && semctl(sem, 0, GETALL, got) == 0 && got[2] == 3);
	struct sembuf op[2] = {{0, -1, 0}, {1, 1, 0}};
	struct timespec limit = {1, 0};
	NEED(semop(sem, op, 2) == 0 && semctl(sem, 0, IPC_STAT, &sd) == 0 && sd.sem_nsems == 3);
	op[0].sem_op = 4;
	NEED(semtimedop(sem, op, 1, &limit) == 0 && semctl(sem, 0, GETVAL) == 4 && semctl(0, 0, SEM_INFO, &si) >= 0);
	NEED(semctl(sem, 0, IPC_RMID) == 0);

	struct {
		long type;
		char text[32];
	} m = {5, "a message"};
	struct msqid_ds md;
	int q = msgget(IPC_PRIVATE, 0600);
	NEED(q >= 0 && msgsnd(q, &m, 10, 0) == 0 && msgctl(q, IPC_STAT, &md) == 0 && md.msg_qnum == 1);
	memset(&m, 0, sizeof(m));
	NEED(msgrcv(q, &m, sizeof(m.text), 0, 0) == 10 && m.type == 5 && !strcmp(m.text, "a message"));
	NEED(msgctl(q, IPC_RMID, NULL) == 0);

	char name[64], buf[128];
	unsigned prio = 0;
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 100};
	snprintf(name, sizeof(name), "/rdb-test-%d", getpid());
	mqd_t mq = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (mq == (mqd_t)-1 && (errno == ENOSYS || errno == EMFILE)) { /* none here, or RLIMIT_MSGQUEUE */
		puts("no POSIX message queues here");
	} else {
		NEED(mq != (mqd_t)-1 && mq_send(mq, "posix", 6, 9) == 0 && mq_getattr(mq, &attr) == 0);
		NEED(mq_receive(mq, buf, sizeof(buf), &prio) == 6 && prio == 9 && mq_unlink(name) == 0);
	}
	puts("ok");
}
