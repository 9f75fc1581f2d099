/* get_robust_list(2): a mutex whose owner ends is EOWNERDEAD for the next one, of a thread or a process. */
#include "../observe.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t *m;

static void *dies(void *unused)
{
	pthread_mutex_lock(m);
	return unused;
}

int main(void)
{
	pthread_mutexattr_t how;
	pthread_t t;

	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&how);
	pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
	MUST(m != MAP_FAILED && !pthread_mutex_init(m, &how));
	pthread_create(&t, NULL, dies, NULL);
	pthread_join(t, NULL);
	printf("%s\n", strerrorname_np(pthread_mutex_lock(m)));
	printf("%d\n", pthread_mutex_consistent(m));
	pthread_mutex_unlock(m);
	pid_t pid = fork();
	if (!pid) {
		dies(NULL);
		_exit(0);
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	printf("%s\n", strerrorname_np(pthread_mutex_lock(m)));
	pthread_mutex_unlock(m);
	printf("%s\n", strerrorname_np(pthread_mutex_lock(m)));
	return 0;
}
