/* msgop(2): who waits in msgrcv or msgsnd when the queue is removed gets EIDRM (EINVAL: it came too late). */
#include "../observe.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/wait.h>

int main(void)
{
	struct {
		long type;
		char text[8];
	} m = {1, "go"};
	int queue = msgget(IPC_PRIVATE, 0600), status, ready[2];
	pid_t child;
	char c;

	MUST(queue >= 0 && !pipe(ready));
	child = fork();
	MUST(child >= 0);
	if (!child) {
		SAY(msgrcv(queue, &m, 8, 1, 0));
		MUST(write(ready[1], "r", 1) == 1);
		MUST(msgrcv(queue, &m, 8, 2, 0) == -1);
		SAY(errno == EIDRM || errno == EINVAL);
		_exit(0);
	}
	MUST(!msgsnd(queue, &m, 3, 0) && read(ready[0], &c, 1) == 1);
	MUST(!msgctl(queue, IPC_RMID, NULL));
	MUST(waitpid(child, &status, 0) == child);
	return 0;
}
