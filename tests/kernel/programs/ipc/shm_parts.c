/* shmdt(2): takes away what munmap has left of the segment, whichever part is gone, and nothing else. */
#include "../observe.h"
#include <sys/mman.h>
#include <sys/shm.h>

enum { PAGE = 4096, PAGES = 5 };

static int there(const char *at)
{
	unsigned char resident;

	return !mincore((void *)(size_t)at, PAGE, &resident);
}

int main(void)
{
	static const int gone[][2] = {{0, 1}, {1, 1}, {2, 2}, {4, 1}, {0, 5}, {0, 3}};
	const int id = shmget(IPC_PRIVATE, PAGES * PAGE, 0600), second = shmget(IPC_PRIVATE, PAGE, 0600);

	MUST(id >= 0 && second >= 0);
	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++) {
		char *at = shmat(id, NULL, 0), *in_gap;
		MUST(at != (void *)-1);
		memset(at, 'a' + (int)i, PAGES * PAGE);
		SAY(munmap(at + gone[i][0] * PAGE, (size_t)gone[i][1] * PAGE));
		in_gap = shmat(second, at + gone[i][0] * PAGE, 0);
		MUST(in_gap != (void *)-1);
		*in_gap = 'x';
		SAY(shmdt(at));
		for (int page = 0; page < PAGES; page++)
			printf(" %d", there(at + page * PAGE));
		printf("\n");
		if (there(in_gap)) {
			printf("%c\n", *in_gap);
			SAY(shmdt(in_gap));
		}
		munmap(at, PAGES * PAGE);
		SAY(shmdt(at));
	}
	SAY(shmctl(id, IPC_RMID, NULL));
	SAY(shmctl(second, IPC_RMID, NULL));
	return 0;
}
