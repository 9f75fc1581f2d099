/* Three processes that work in turn on memory that they share: anonymous, and of System V.  A token goes round in pipes, so
 * that each has one writer at a time; getppid() marks places to restart at, in the middle of a turn. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, TURNS = 8 };

static struct {
	int sum, steps[PROCESSES];
} * page;
static int *history, ring[PROCESSES][2];

static void work(int me)
{
	char token;
	for (int turn = 0; turn < TURNS; turn++) {
		if (read(ring[me][0], &token, 1) != 1)
			_exit(2);
		page->sum = page->sum * 3 + me + 1;
		page->steps[me]++;
		getppid();
		page->sum %= 100003;
		history[turn * PROCESSES + me] += page->sum;
		if (me == 0) {
			printf("%d\n", page->sum);
			fflush(stdout);
		}
		if (write(ring[(me + 1) % PROCESSES][1], &token, 1) != 1)
			_exit(3);
	}
}

int main(void)
{
	int id = shmget(IPC_PRIVATE, TURNS * PROCESSES * sizeof(int), IPC_CREAT | 0600), sum = 0;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	history = shmat(id, NULL, 0);
	if (page == MAP_FAILED || history == (void *)-1)
		return 1;
	for (int i = 0; i < PROCESSES; i++)
		if (pipe(ring[i]))
			return 1;
	for (int i = 1; i < PROCESSES; i++)
		if (fork() == 0) {
			work(i);
			_exit(0);
		}
	if (write(ring[0][1], "t", 1) != 1)
		return 1;
	work(0);
	while (wait(NULL) > 0)
		;
	getppid();
	for (int i = 0; i < TURNS * PROCESSES; i++)
		sum = (sum * 7 + history[i]) % 1000003;
	printf("%d, %d, %d\n", sum, page->steps[1], page->steps[2]);
	fflush(stdout);
	return shmdt(history) || shmctl(id, IPC_RMID, NULL);
}
