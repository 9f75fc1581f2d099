/* A thread of rdb-exec itself. */
#pragma once
#include <pthread.h>

/* Makes a detached thread, which hears no signals (library_threads.c).  0, or an error number as of pthread_create(3). */
static inline int own_thread(void *(*fn)(void *), void *arg)
{
	pthread_t id;
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&id, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return rc;
}
