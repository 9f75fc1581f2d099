/* shmctl(2): a segment that is removed while attached lives on until the last one detaches. */
#include "../observe.h"
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>

int main(void)
{
	int id = shmget(IPC_PRIVATE, 5000, 0600), status;
	char *a = shmat(id, NULL, 0), *b;
	struct shmid_ds about;
	pid_t child;

	MUST(id >= 0 && a != (void *)-1);
	strcpy(a, "kept");
	SAY(shmctl(id, IPC_STAT, &about));
	printf("size %zu attached %lu mode %o\n", about.shm_segsz, about.shm_nattch, about.shm_perm.mode);
	SAY(shmctl(id, IPC_RMID, NULL));
	SAY(shmctl(id, IPC_STAT, &about));
	printf("attached %lu mode %o key %d\n", about.shm_nattch, about.shm_perm.mode, about.shm_perm.__key);
	b = shmat(id, NULL, SHM_RDONLY);
	printf("again %d '%s'\n", b != (void *)-1, b);
	child = fork();
	MUST(child >= 0);
	if (!child) {
		MUST(!shmctl(id, IPC_STAT, &about));
		printf("in the child attached %lu\n", about.shm_nattch);
		strcpy(a, "changed");
		SAY(shmdt(a));
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("'%s'\n", b);
	SAY(shmctl(id, IPC_STAT, &about));
	printf("attached %lu\n", about.shm_nattch);
	SAY(shmdt(a));
	SAY(shmdt(b));
	SAY(shmctl(id, IPC_STAT, &about));
	SAY(shmdt(b));
	SAY(shmdt((void *)8));
	return 0;
}
