/* A parent and its child share memory by name (shm_open) and a named semaphore, and take turns by pipes; `again`: the
 * parent opens the memory a second time at last.  getppid() marks places to restart at. */
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 4, SIZE = 4096 };

static int *map(const char *name)
{
	int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, SIZE))
		return NULL;
	int *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
	char name[64], c = 0;
	int to[2], from[2], sum = 0, status;
	snprintf(name, sizeof(name), "/rdb-test-%d", getpid());
	int *memory = map(name);
	sem_t *given = sem_open(name, O_CREAT, 0600, 0);
	if (!memory || given == SEM_FAILED || pipe(to) || pipe(from))
		return 2;
	sem_unlink(name);
	if (argc == 1)
		shm_unlink(name);
	if (!fork()) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1) {
			memory[1] = memory[0] * 3;
			if (getppid() < 0 || sem_post(given) || write(from[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(6);
	}
	for (int i = 1; i <= TURNS; i++) {
		memory[0] = i;
		if (getppid() < 0 || write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1 || sem_trywait(given))
			return 3;
		getppid();
		printf("%d\n", sum += memory[1]);
		fflush(stdout);
	}
	if (argc > 1 && map(name) == NULL)
		return 4;
	if (argc > 1)
		shm_unlink(name);
	close(to[1]);
	if (wait(&status) < 0)
		return 5;
	printf("%d, status %d\n", sum, WEXITSTATUS(status));
	return 0;
}
