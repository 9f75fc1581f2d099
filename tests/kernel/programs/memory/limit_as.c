/* getrlimit(2), RLIMIT_AS: what the program itself has mapped is all that counts, by mmap, brk, mremap and shmat. */
#include "../observe.h"
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, CHUNK = 64 * MIB, MOST = 16 };

static void *chunk[MOST];

/* How many can be mapped. */
static int fill(int prot)
{
	int n = 0;

	for (; n < MOST; n++) {
		chunk[n] = mmap(NULL, CHUNK, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (chunk[n] == MAP_FAILED)
			break;
	}
	return n;
}

static void empty(int n)
{
	while (n--)
		MUST(!munmap(chunk[n], CHUNK));
}

static void set(rlim_t soft, rlim_t hard)
{
	const struct rlimit limit = {soft, hard};

	SAY(setrlimit(RLIMIT_AS, &limit));
}

static void show(void)
{
	struct rlimit now;
	char line[256];
	FILE *file = fopen("/proc/self/limits", "r");

	MUST(file && !getrlimit(RLIMIT_AS, &now));
	printf("%ld %ld\n", (long)now.rlim_cur, (long)now.rlim_max);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "Max address", 11))
			printf("%s", line);
	fclose(file);
}

int main(int argc, char **argv)
{
	struct rlimit was, is = {256 * MIB, RLIM_INFINITY};
	int n, status, ends[2];
	char byte;

	if (argc > 1) {
		show();
		SAY(fill(PROT_NONE));
		return 0;
	}
	set(512 * MIB, RLIM_INFINITY);
	show();
	n = fill(PROT_NONE);
	printf("%d: %s\n", n, strerrorname_np(errno));
	void *shared = mmap(NULL, 60 * MIB, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	OK((long)shared);
	OK((long)mmap(chunk[0], CHUNK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)); /* in its place */
	OK((long)sbrk(8 * MIB));
	OK((long)mremap(chunk[0], CHUNK, 2 * CHUNK, MREMAP_MAYMOVE));
	OK((long)mremap(chunk[1], CHUNK, CHUNK, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	OK((long)mremap(chunk[1], CHUNK, CHUNK / 2, MREMAP_MAYMOVE));
	OK((long)sbrk(28 * MIB));
	OK((long)sbrk(28 * MIB));
	OK(mprotect(chunk[2], CHUNK, PROT_READ | PROT_WRITE));
	int id = shmget(IPC_PRIVATE, CHUNK, 0600);
	MUST(id >= 0);
	OK((long)shmat(id, NULL, 0));
	MUST(!munmap(chunk[--n], CHUNK));
	void *there = shmat(id, NULL, 0);
	OK((long)there);
	MUST(!shmdt(there) && !shmctl(id, IPC_RMID, NULL));

	/* a limit below what is used: nothing more, but less */
	set(64 * MIB, RLIM_INFINITY);
	OK((long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	OK((long)sbrk(-4096));
	OK((long)sbrk(4096));
	OK(munmap(chunk[2], CHUNK));
	set(RLIM_INFINITY, RLIM_INFINITY);
	n = fill(PROT_NONE);
	SAY(n);
	empty(n);
	MUST(!munmap(shared, 60 * MIB));

	/* children inherit it, and what they execute */
	MUST(!pipe(ends));
	pid_t child = fork();
	if (!child) {
		MUST(read(ends[0], &byte, 1) == 1);
		show();
		execl("/proc/self/exe", "again", "again", NULL);
		_exit(99);
	}
	SAY(prlimit(child, RLIMIT_AS, &is, &was));
	printf("%ld %ld\n", (long)was.rlim_cur, (long)was.rlim_max);
	SAY(prlimit(child, RLIMIT_AS, NULL, &was));
	printf("%ld %ld\n", (long)was.rlim_cur, (long)was.rlim_max);
	fflush(stdout);
	MUST(write(ends[1], "", 1) == 1 && waitpid(child, &status, 0) == child);
	SAY(status);

	/* errors */
	set(2, 1);
	SAY(syscall(SYS_setrlimit, RLIMIT_AS, NULL));
	SAY(prlimit(0, RLIMIT_AS, NULL, NULL));
	SAY(prlimit(0, RLIMIT_AS, NULL, (void *)8));
	set(1 << 30, 1 << 30);
	show();
	return argv[0] == NULL;
}
