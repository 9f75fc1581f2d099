/* fcntl(2): F_NOTIFY: a signal tells which folder has changed; without DN_MULTISHOT once. */
#include "../observe.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static volatile sig_atomic_t count, of;

static void handler(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	count++;
	of = info->si_fd;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	int fd, file;

	MUST(!mkdir("dir", 0700) && (fd = open("dir", O_RDONLY)) >= 0 && !sigaction(SIGRTMIN, &action, NULL));
	MUST((file = open("file", O_CREAT | O_RDONLY, 0600)) >= 0);
	SAY(fcntl(file, F_NOTIFY, DN_CREATE));
	SAY(fcntl(fd, F_SETSIG, SIGRTMIN));
	if (SAY(fcntl(fd, F_NOTIFY, DN_CREATE)))
		skip("dnotify");
	MUST(!mkdir("dir/a", 0700));
	printf("%d, its descriptor: %d\n", count, of == fd);
	MUST(!mkdir("dir/b", 0700));
	printf("%d\n", count);
	SAY(fcntl(fd, F_NOTIFY, DN_CREATE | DN_DELETE | DN_RENAME | DN_ATTRIB | DN_MULTISHOT));
	MUST(!mkdir("dir/c", 0700));
	printf("%d\n", count);
	MUST(!rename("dir/c", "dir/d"));
	printf("%d\n", count);
	MUST(!rmdir("dir/d"));
	printf("%d\n", count);
	MUST(!chmod("dir/a", 0750));
	printf("%d\n", count);
	SAY(fcntl(fd, F_NOTIFY, 0));
	MUST(!rmdir("dir/a"));
	printf("%d\n", count);
	return 0;
}
