/* open(2): NOTES: threads share the descriptors: one closes what another uses; unshare(CLONE_FILES) ends that. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

static int fd;

static void *closes(void *arg)
{
	(void)arg;
	SAY(close(fd));
	return NULL;
}

static void *apart(void *arg)
{
	(void)arg;
	SAY(unshare(CLONE_FILES | CLONE_FS));
	SAY(close(fd));
	SAY(fcntl(fd, F_GETFD));
	SAY(chdir("/"));
	SAY(dup2(1, 90));
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char text[8];

	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && write(fd, "content", 7) == 7);
	MUST(!pthread_create(&thread, NULL, apart, NULL) && !pthread_join(thread, NULL));
	SAY(pread(fd, text, 7, 0));
	SAY(fcntl(90, F_GETFD));
	SAY(access("file", F_OK));
	MUST(!pthread_create(&thread, NULL, closes, NULL) && !pthread_join(thread, NULL));
	SAY(pread(fd, text, 7, 0));
	return 0;
}
