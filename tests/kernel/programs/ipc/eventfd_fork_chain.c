/* eventfd(2), pipe(7): processes wait for each other in a ring, each by a descriptor that it inherited. */
#include "../observe.h"
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 4, ROUNDS = 5 };

int main(void)
{
	int ring[PROCESSES], status, *shared;
	eventfd_t value;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	for (int i = 0; i < PROCESSES; i++) {
		ring[i] = eventfd(0, 0);
		MUST(ring[i] >= 0);
	}
	for (int i = 0; i < PROCESSES; i++)
		if (!fork()) {
			for (int round = 0; round < ROUNDS; round++) {
				MUST(!eventfd_read(ring[i], &value));
				shared[0] = shared[0] * 3 + i;
				MUST(!eventfd_write(ring[(i + 1) % PROCESSES], 1));
			}
			_exit(0);
		}
	MUST(!eventfd_write(ring[0], 1));
	while (wait(&status) > 0)
		MUST(!status);
	printf("%d\n", shared[0]);
	return 0;
}
