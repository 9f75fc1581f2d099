/* vfork(2): other threads run on while the child lives; what they map and what it maps are different memory. */
#include "../observe.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int go[2], done[2];
static char *of_thread, *of_child;

static char *map(const char *text)
{
	char *const p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		strcpy(p + 4000, text);
	return p;
}

static void *thread(void *unused)
{
	char c;

	MUST(read(go[0], &c, 1) == 1);
	of_thread = map("the thread's");
	MUST(write(done[1], &c, 1) == 1);
	return unused;
}

int main(void)
{
	pthread_t t;
	int status;
	char c = 0;

	MUST(!pipe(go) && !pipe(done) && !pthread_create(&t, NULL, thread, NULL));
	const pid_t pid = vfork();
	MUST(pid >= 0);
	if (!pid) {
		if (write(go[1], &c, 1) != 1 || read(done[0], &c, 1) != 1)
			_exit(1);
		of_child = map("the child's");
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	pthread_join(t, NULL);
	printf("%d %s, %s, apart: %d\n", status, of_thread + 4000, of_child + 4000, of_thread != of_child);
	printf("%d\n", map("more") != of_child);
	return 0;
}
