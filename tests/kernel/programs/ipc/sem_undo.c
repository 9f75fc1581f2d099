/* semop(2): SEM_UNDO takes back what a process did when it ends; execve keeps it, fork does not hand it on. */
#include "../observe.h"
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	struct sembuf up = {0, 3, SEM_UNDO}, down = {1, -2, SEM_UNDO}, plain = {0, 10, 0};
	int sem, status;
	char number[16];

	if (argc > 1) {
		sem = atoi(argv[1]);
		printf("after exec: %d %d\n", semctl(sem, 0, GETVAL), semctl(sem, 1, GETVAL));
		return 0;
	}
	sem = semget(IPC_PRIVATE, 2, 0600);
	MUST(sem >= 0 && !semctl(sem, 1, SETVAL, 5));
	for (int way = 0; way < 3; way++) {
		fflush(stdout);
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			MUST(!semop(sem, &up, 1) && !semop(sem, &down, 1) && !semop(sem, &plain, 1));
			printf("in the child: %d %d pid %d\n", semctl(sem, 0, GETVAL), semctl(sem, 1, GETVAL),
			       semctl(sem, 0, GETPID) == getpid());
			fflush(stdout);
			if (way == 1) {
				snprintf(number, sizeof number, "%d", sem);
				execl("/proc/self/exe", argv[0], number, NULL);
			}
			if (way == 2) {
				if (!fork())
					_exit(0);
				MUST(wait(&status) > 0);
				printf("after its child: %d %d\n", semctl(sem, 0, GETVAL), semctl(sem, 1, GETVAL));
				fflush(stdout);
			}
			_exit(0);
		}
		MUST(waitpid(child, &status, 0) == child);
		printf("afterwards: %d %d\n", semctl(sem, 0, GETVAL), semctl(sem, 1, GETVAL));
	}
	SAY(semctl(sem, 0, IPC_RMID));
	return 0;
}
