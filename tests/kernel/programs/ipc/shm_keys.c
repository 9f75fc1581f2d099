/* shmget(2), ftok(3): the same key gives the same segment; EEXIST, EINVAL for a larger size, EACCES. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int main(void)
{
	key_t key;
	int id, sem, queue;

	MUST(close(open("key", O_CREAT | O_WRONLY, 0600)) == 0);
	key = ftok("key", getpid() & 0xff ? getpid() & 0xff : 1);
	MUST(key != -1);
	SAY(ftok("nothing", 1));
	id = shmget(key, 4000, IPC_CREAT | IPC_EXCL | 0600);
	MUST(id >= 0);
	SAY(shmget(key, 4000, IPC_CREAT | IPC_EXCL | 0600));
	SAY(shmget(key, 4000, 0) == id);
	SAY(shmget(key, 0, 0) == id);
	SAY(shmget(key, 5000, 0));
	sem = semget(key, 2, IPC_CREAT | IPC_EXCL | 0600);
	MUST(sem >= 0);
	SAY(semget(key, 3, 0));
	SAY(semget(key, 0, 0) == sem);
	queue = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
	MUST(queue >= 0);
	SAY(msgget(key, IPC_CREAT | 0600) == queue);
	SAY(shmctl(id, IPC_RMID, NULL));
	SAY(semctl(sem, 0, IPC_RMID));
	SAY(msgctl(queue, IPC_RMID, NULL));
	SAY(shmget(key, 4000, 0));
	return 0;
}
