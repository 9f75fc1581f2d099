/* vfork(2): only the calling thread waits; what other threads store meanwhile stays, also next to what the child stores. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct {
	long by_child, beside, both;
	char page[4096 - 3 * sizeof(long)];
	long elsewhere;
} *volatile memory;
static int go[2], done[2];

/* Stores while the child lives. */
static void *store(void *arg)
{
	long number;

	(void)arg;
	while (read(go[0], &number, sizeof(number)) == sizeof(number)) {
		memory->beside = memory->elsewhere = memory->both = number;
		MUST(write(done[1], &number, sizeof(number)) == sizeof(number));
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED && !pipe2(go, O_CLOEXEC) && !pipe2(done, O_CLOEXEC));
	MUST(!pthread_create(&thread, NULL, store, NULL));
	for (long i = 1; i <= 6; i++) {
		int status;
		pid_t pid = vfork();

		MUST(pid >= 0);
		if (!pid) {
			long number = i;

			memory->by_child = i;
			if (write(go[1], &number, sizeof(number)) != sizeof(number) ||
			    read(done[0], &number, sizeof(number)) != sizeof(number))
				_exit(1);
			memory->both = -i; /* after the thread */
			if (i % 2)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		printf("%ld: status %d, child %ld, thread %ld %ld, last %ld\n", i, status, memory->by_child,
		       memory->beside, memory->elsewhere, memory->both);
	}
	close(go[1]);
	MUST(!pthread_join(thread, NULL));
	return 0;
}
