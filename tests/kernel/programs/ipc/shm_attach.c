/* shmop(2): addresses, SHM_RND, SHM_REMAP, SHM_RDONLY, and the errors of each. */
#include "../observe.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

static sigjmp_buf back;

static void handler(int sig)
{
	siglongjmp(back, sig);
}

int main(void)
{
	int id = shmget(IPC_PRIVATE, 8192, 0600);
	char *place = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at, *only;

	MUST(id >= 0 && place != MAP_FAILED);
	strcpy(place, "private");
	OK(shmat(id, place, 0));
	OK(shmat(id, place + 5, 0));
	at = shmat(id, place + 5, SHM_RND | SHM_REMAP);
	printf("rounded %d '%s'\n", at == place, at);
	strcpy(place, "shared");
	only = shmat(id, NULL, SHM_RDONLY);
	printf("'%s'\n", only);
	signal(SIGSEGV, handler);
	if (!sigsetjmp(back, 1))
		only[0] = 'S';
	else
		printf("read only\n");
	SAY(mprotect(only, 4096, PROT_READ | PROT_WRITE) == -1);
	printf("%s\n", strerrorname_np(errno));
	SAY(munmap(place + 4096, 4096));
	printf("'%s' '%s'\n", place, only);
	struct shmid_ds about;
	MUST(!shmctl(id, IPC_STAT, &about));
	printf("attached %lu\n", about.shm_nattch);
	SAY(shmdt(place));
	SAY(shmdt(only));
	OK(shmat(-1, NULL, 0));
	SAY(shmctl(id, IPC_RMID, NULL));
	SAY(shmget(IPC_PRIVATE, 0, 0600));
	SAY(shmget(0x7eadbeef, 100, 0));
	return 0;
}
