/* semctl(2): GETNCNT and GETZCNT count those who wait for more and for zero; GETPID the last who changed it. */
#include "../observe.h"
#include <sched.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>

int main(void)
{
	int sem = semget(IPC_PRIVATE, 2, 0600), status;
	struct sembuf op;

	MUST(sem >= 0 && !semctl(sem, 0, SETVAL, 1));
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			op = (struct sembuf){0, (short)(i ? -2 : 0), 0};
			MUST(!semop(sem, &op, 1));
			_exit(0);
		}
	while (semctl(sem, 0, GETNCNT) != 2 || semctl(sem, 0, GETZCNT) != 1)
		sched_yield();
	printf("%d %d\n", semctl(sem, 0, GETNCNT), semctl(sem, 0, GETZCNT));
	op = (struct sembuf){0, -1, IPC_NOWAIT};
	SAY(semop(sem, &op, 1));
	MUST(wait(&status) > 0);
	printf("%d %d\n", semctl(sem, 0, GETNCNT), semctl(sem, 0, GETZCNT));
	op.sem_op = 5;
	fflush(stdout);
	SAY(semop(sem, &op, 1));
	MUST(wait(&status) > 0 && wait(&status) > 0);
	printf("left %d\n", semctl(sem, 0, GETVAL));
	return !!semctl(sem, 0, IPC_RMID);
}
