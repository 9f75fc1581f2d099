/* Threads of the lower half's libraries, such as an MPI's progress thread: they hear no signals, because those
 * are the program's, and a handler would take them for the thread that made them (it is in their GS base). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include "crossing/source.h"
#include "text/traps.h"

/* In front of libc's for everything that the lower half loads. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *id, const pthread_attr_t *attr,
							  void *(*fn)(void *), void *arg)
{
	static int (*volatile real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	sigset_t mask;
	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
												      "pthread_create");
	if (!real)
		return ENOSYS;
	lower_block_signals(&mask);
	/* what traps here would trap in that thread, too */
	const bool traps = lower.started && lower.upper.traps & TRAPS_IDENTITY;
	int counter = PR_TSC_ENABLE; /* open already in a call of a stub, but not in a system call */
	prctl(PR_GET_TSC, &counter);
	if (traps)
		traps_set(false);
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	int rc = real(id, attr, fn, arg);
	if (traps)
		traps_set(true);
	prctl(PR_SET_TSC, counter);
	if (source) /* main() has begun */
		source->made_thread();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return rc;
}
