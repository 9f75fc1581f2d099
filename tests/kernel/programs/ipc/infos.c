/* msgctl(2), semctl(2), shmctl(2): IPC_INFO, *_INFO and *_STAT tell limits, use, and an object by its index. */
#include "../observe.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>

int main(void)
{
	int queue = msgget(IPC_PRIVATE, 0640), sem = semget(IPC_PRIVATE, 3, 0640), shm = shmget(IPC_PRIVATE, 100, 0640),
	    most;
	struct msginfo messages;
	struct seminfo semaphores;
	struct shm_info used;
	struct shminfo limits;
	struct msqid_ds q;
	struct semid_ds s;
	struct shmid_ds m;
	int found = 0;

	MUST(queue >= 0 && sem >= 0 && shm >= 0);
	most = msgctl(queue, IPC_INFO, (struct msqid_ds *)&messages);
	printf("%d %d %d\n", most >= 0, messages.msgmax, messages.msgmni > 0);
	most = msgctl(queue, MSG_INFO, (struct msqid_ds *)&messages);
	printf("%d %d\n", most >= 0, messages.msgpool >= 1);
	for (int i = 0; i <= most; i++)
		found += msgctl(i, MSG_STAT, &q) == queue || msgctl(i, MSG_STAT_ANY, &q) == queue;
	printf("found %d\n", found);
	most = semctl(sem, 0, IPC_INFO, &semaphores);
	printf("%d %d\n", most >= 0, semaphores.semvmx);
	most = semctl(sem, 0, SEM_INFO, &semaphores);
	printf("%d %d\n", most >= 0, semaphores.semaem >= 3);
	for (int i = found = 0; i <= most; i++)
		found += semctl(i, 0, SEM_STAT, &s) == sem || semctl(i, 0, SEM_STAT_ANY, &s) == sem;
	printf("found %d\n", found);
	most = shmctl(shm, IPC_INFO, (struct shmid_ds *)&limits);
	printf("%d %lu\n", most >= 0, limits.shmmin);
	most = shmctl(shm, SHM_INFO, (struct shmid_ds *)&used);
	printf("%d %d\n", most >= 0, used.used_ids >= 1);
	for (int i = found = 0; i <= most; i++)
		found += shmctl(i, SHM_STAT, &m) == shm || shmctl(i, SHM_STAT_ANY, &m) == shm;
	printf("found %d\n", found);
	SAY(shmctl(shm, SHM_LOCK, NULL) == 0 || errno == EPERM);
	MUST(!shmctl(shm, IPC_STAT, &m));
	m.shm_perm.mode = 0600;
	SAY(shmctl(shm, IPC_SET, &m));
	MUST(!shmctl(shm, IPC_STAT, &m));
	printf("mode %o\n", m.shm_perm.mode & 0777);
	SAY(shmctl(shm, 77, &m));
	SAY(syscall(SYS_shmctl, shm, IPC_STAT, 8));
	SAY(shmctl(shm, IPC_RMID, NULL));
	SAY(semctl(sem, 0, IPC_RMID));
	SAY(msgctl(queue, IPC_RMID, NULL));
	return 0;
}
