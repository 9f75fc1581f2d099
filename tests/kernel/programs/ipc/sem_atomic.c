/* semop(2): several operations happen together or not at all; EAGAIN, ERANGE, EFBIG, E2BIG, EINVAL, and time-outs. */
#include "../observe.h"
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>

static int sem;

static void values(void)
{
	unsigned short all[3];

	MUST(semctl(sem, 0, GETALL, all) >= 0);
	printf("%u %u %u\n", all[0], all[1], all[2]);
}

int main(void)
{
	unsigned short start[3] = {2, 0, 32767};
	struct sembuf both[2] = {{0, -1, IPC_NOWAIT}, {1, -1, IPC_NOWAIT}}, ops[3];
	struct timespec little = {0, 2000000};
	struct semid_ds status;

	sem = semget(IPC_PRIVATE, 3, 0600);
	MUST(sem >= 0 && !semctl(sem, 0, SETALL, start));
	SAY(semop(sem, both, 2));
	values();
	ops[0] = (struct sembuf){1, 1, 0};
	ops[1] = (struct sembuf){1, -1, 0};
	ops[2] = (struct sembuf){1, 0, 0};
	SAY(semop(sem, ops, 3));
	ops[0] = (struct sembuf){2, 1, 0};
	SAY(semop(sem, ops, 1));
	ops[0] = (struct sembuf){3, 1, 0};
	SAY(semop(sem, ops, 1));
	SAY(semop(sem, ops, 0));
	SAY(semop(sem, (void *)8, 1));
	SAY(semop(sem, ops, 1000000));
	ops[0] = (struct sembuf){1, -1, 0};
	SAY(semtimedop(sem, ops, 1, &little));
	SAY(semtimedop(sem, ops, 1, &(struct timespec){0, -1}));
	SAY(semctl(sem, 0, SETVAL, 40000));
	SAY(semctl(sem, 7, GETVAL));
	SAY(semctl(sem, 0, 99));
	values();
	SAY(semctl(sem, 0, IPC_STAT, &status));
	printf("count %lu time set %d\n", status.sem_nsems, status.sem_otime != 0);
	SAY(semctl(sem, 0, IPC_RMID));
	SAY(semop(sem, both, 1));
	SAY(semget(IPC_PRIVATE, 0, 0600));
	SAY(semget(IPC_PRIVATE, -1, 0600));
	return 0;
}
