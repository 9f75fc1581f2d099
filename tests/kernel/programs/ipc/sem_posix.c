/* sem_overview(7): named and unnamed semaphores between processes: trywait, timed and clock waits, overflow, unlink. */
#include "../observe.h"
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

int main(void)
{
	sem_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *named;
	struct timespec past = {1, 0};
	int value, status;
	char name[40];

	snprintf(name, sizeof name, "/observe-%d", getpid());
	MUST(shared != MAP_FAILED && !sem_init(shared, 1, 0));
	named = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
	MUST(named != SEM_FAILED);
	SAY(sem_open(name, O_CREAT | O_EXCL, 0600, 2) == SEM_FAILED);
	SAY(sem_open(name, 0) == named);
	pid_t child = fork();
	if (!child) {
		SAY(sem_wait(named));
		SAY(sem_post(shared));
		SAY(sem_wait(named));
		SAY(sem_trywait(named));
		SAY(sem_post(shared));
		_exit(0);
	}
	MUST(!sem_wait(shared) && !sem_wait(shared) && waitpid(child, &status, 0) == child);
	SAY(sem_getvalue(named, &value));
	printf("%d\n", value);
	SAY(sem_trywait(shared));
	SAY(sem_timedwait(shared, &past));
	SAY(sem_clockwait(shared, CLOCK_MONOTONIC, &past));
	SAY(sem_clockwait(shared, CLOCK_BOOTTIME, &past));
	SAY(sem_timedwait(shared, &(struct timespec){1, -1}));
	SAY(sem_unlink(name));
	SAY(sem_unlink(name));
	SAY(sem_open(name, 0) == SEM_FAILED);
	SAY(sem_post(named));
	SAY(sem_close(named));
	SAY(sem_init(shared, 1, (unsigned)INT_MAX));
	SAY(sem_post(shared));
	SAY(sem_init(shared, 1, (unsigned)INT_MAX + 1u));
	return 0;
}
