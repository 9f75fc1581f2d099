/* exit_group(2): all threads end; pthread_exit of the first thread leaves the others running. */
#include "../observe.h"
#include <pthread.h>
#include <sys/wait.h>

static void *waits(void *unused)
{
	pause();
	return unused;
}

static void *ends(void *code)
{
	pthread_t first = *(pthread_t *)code;
	pthread_join(first, NULL);
	_exit(9);
}

int main(void)
{
	for (int leave = 0; leave < 2; leave++) {
		int how;
		pid_t pid = fork();
		if (!pid) {
			pthread_t t, self = pthread_self();
			pthread_create(&t, NULL, waits, NULL);
			if (leave) {
				pthread_create(&t, NULL, ends, &self);
				pthread_exit(NULL);
			}
			_exit(8);
		}
		MUST(waitpid(pid, &how, 0) == pid);
		printf("%d %d\n", WIFEXITED(how), WEXITSTATUS(how));
		fflush(stdout);
	}
	return 0;
}
