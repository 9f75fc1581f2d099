/* msgop(2): which message msgrcv takes: by type, the lowest up to a number, any other (MSG_EXCEPT); MSG_NOERROR, E2BIG, MSG_COPY. */
#define _GNU_SOURCE
#include "../observe.h"
#include <sys/ipc.h>
#include <sys/msg.h>

struct text {
	long type;
	char text[16];
};

static int queue;

static void put(long type, const char *text)
{
	struct text m = {.type = type};

	strcpy(m.text, text);
	MUST(!msgsnd(queue, &m, strlen(text), 0));
}

static void get(long type, size_t size, int flags)
{
	struct text m = {0};
	ssize_t got = msgrcv(queue, &m, size, type, flags | IPC_NOWAIT);

	printf("type %ld size %zu flags %x: %zd %s %ld '%.*s'\n", type, size, (unsigned)flags, got,
	       got < 0 ? strerrorname_np(errno) : "", m.type, got < 0 ? 0 : (int)got, m.text);
}

int main(void)
{
	struct text wrong = {.type = 0};
	struct msqid_ds status;

	queue = msgget(IPC_PRIVATE, 0600);
	MUST(queue >= 0);
	put(5, "five");
	put(3, "three");
	put(9, "nine");
	put(3, "again");
	put(7, "a long text");
	get(3, 16, 0);
	get(-8, 16, 0);
	get(9, 16, MSG_EXCEPT);
	get(4, 16, 0);
	get(7, 4, 0);
	get(1, 16, MSG_COPY);
	get(7, 4, MSG_NOERROR);
	get(0, 16, 0);
	get(0, 16, 0);
	put(2, "");
	get(0, 0, 0);
	SAY(msgsnd(queue, &wrong, 4, 0));
	SAY(msgsnd(queue, &wrong, 1u << 30, 0));
	SAY(msgsnd(queue, (void *)8, 4, 0));
	SAY(msgctl(queue, IPC_STAT, &status));
	printf("%lu messages, %lu bytes, by me %d %d\n", status.msg_qnum, status.__msg_cbytes,
	       status.msg_lspid == getpid(), status.msg_lrpid == getpid());
	status.msg_qbytes = 20;
	SAY(msgctl(queue, IPC_SET, &status));
	put(1, "0123456789");
	struct text more = {.type = 1};
	SAY(msgsnd(queue, &more, 11, IPC_NOWAIT));
	SAY(msgctl(queue, IPC_RMID, NULL));
	SAY(msgsnd(queue, &more, 1, 0));
	SAY(msgget(0x7eadbeef, 0));
	return 0;
}
