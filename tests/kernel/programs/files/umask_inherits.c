/* umask(2): counts for files, folders, fifos and nodes; fork and exec inherit it, threads share it. */
#include "../observe.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void show(const char *name)
{
	struct stat s;

	MUST(!lstat(name, &s));
	printf("%s %o\n", name, s.st_mode & 07777);
	fflush(stdout);
}

static void *thread(void *arg)
{
	(void)arg;
	SAY(umask(0123));
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t other;
	int status;

	if (count > 1) {
		SAY(umask(0));
		return 0;
	}
	umask(025);
	MUST(!close(open("file", O_CREAT | O_WRONLY, 0777)) && !mkdir("dir", 01777) && !mkfifo("fifo", 0666));
	MUST(!mknod("node", S_IFREG | 0666, 0) && !symlink("x", "link"));
	show("file");
	show("dir");
	show("fifo");
	show("node");
	MUST(!chmod("file", 0777));
	show("file");
	if (!fork()) {
		SAY(umask(0777));
		_exit(0);
	}
	MUST(wait(&status) > 0);
	MUST(!pthread_create(&other, NULL, thread, NULL) && !pthread_join(other, NULL));
	SAY(umask(07777));
	SAY(umask(0034));
	fflush(stdout);
	execl("/proc/self/exe", arguments[0], "again", NULL);
	MUST(0);
}
