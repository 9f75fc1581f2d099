/* unshare(2): a thread with CLONE_FILES has descriptors of its own from then on, with CLONE_FS a working directory of its own. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

static int fd;

static void *apart(void *arg)
{
	char path[256];
	int mine;

	SAY(unshare(CLONE_FS));
	SAY(mkdir("below", 0700));
	SAY(chdir("below"));
	SAY(umask(077));
	MUST(getcwd(path, sizeof path));
	printf("thread in %s\n", strrchr(path, '/'));
	SAY(unshare(CLONE_FILES));
	mine = open("/dev/null", O_RDONLY);
	printf("opened %d\n", mine >= 0);
	SAY(close(fd));
	SAY(fcntl(fd, F_GETFD));
	return arg;
}

int main(void)
{
	char path[256], before[256];
	pthread_t thread;

	umask(022);
	fd = open("/dev/zero", O_RDONLY);
	MUST(fd >= 0 && getcwd(before, sizeof before));
	MUST(!pthread_create(&thread, NULL, apart, NULL) && !pthread_join(thread, NULL));
	SAY(fcntl(fd, F_GETFD));
	MUST(getcwd(path, sizeof path));
	printf("the same %d\n", !strcmp(path, before));
	SAY(umask(0));
	SAY(rmdir("below"));
	return 0;
}
