/* pthread_mutexattr_setrobust(3): who locks after its owner ended gets EOWNERDEAD; unlocked as it is, ENOTRECOVERABLE. */
#include "../observe.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define NAME(call) printf("%s: %s\n", #call, (reason = (call)) ? strerrorname_np(reason) : "0")

int main(void)
{
	pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	int reason, status;

	MUST(mutex != MAP_FAILED);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	NAME(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	NAME(pthread_mutex_init(mutex, &attr));
	for (int turn = 0; turn < 2; turn++) {
		fflush(stdout);
		pid_t child = fork();
		MUST(child >= 0);
		if (!child) {
			MUST(!pthread_mutex_lock(mutex));
			_exit(0);
		}
		MUST(waitpid(child, &status, 0) == child);
		NAME(pthread_mutex_trylock(mutex));
		if (!turn)
			NAME(pthread_mutex_consistent(mutex));
		NAME(pthread_mutex_unlock(mutex));
	}
	NAME(pthread_mutex_lock(mutex));
	NAME(pthread_mutex_consistent(mutex));
	NAME(pthread_mutex_destroy(mutex));
	return 0;
}
