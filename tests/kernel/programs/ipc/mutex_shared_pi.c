/* pthread_mutexattr_setprotocol(3p): a robust mutex with priority inheritance between processes, its owner killed while another waits. */
#include "../observe.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define NAME(call) printf("%s: %s\n", #call, (reason = (call)) ? strerrorname_np(reason) : "0")

int main(void)
{
	pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	int reason, status, up[2];
	char c;

	MUST(mutex != MAP_FAILED && !pipe(up));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	NAME(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	NAME(pthread_mutex_init(mutex, &attr));
	for (int way = 0; way < 2; way++) {
		fflush(stdout);
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			MUST(!pthread_mutex_lock(mutex) && write(up[1], "x", 1) == 1);
			if (way)
				_exit(0); /* perhaps before the other one waits */
			for (;;)
				pause();
		}
		MUST(read(up[0], &c, 1) == 1);
		if (!way) {
			NAME(pthread_mutex_trylock(mutex));
			MUST(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
		}
		NAME(pthread_mutex_lock(mutex));
		NAME(pthread_mutex_consistent(mutex));
		NAME(pthread_mutex_unlock(mutex));
		if (way)
			MUST(waitpid(child, &status, 0) == child);
	}
	return 0;
}
