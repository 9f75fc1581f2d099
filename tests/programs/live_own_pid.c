/* Calls that name a process, with an id that the program has asked for before getppid(), which marks the place to
 * restart at.  argv: anything: it has a child. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long rc)
{
	printf("%s %s\n", what, rc < 0 ? strerrorname_np(errno) : rc ? "differs" : "done");
}

int main(int argc, char **argv)
{
	int from = 7, to = 0, end[2];
	const pid_t own = getpid();
	if (pipe(end))
		return 2;
	pid_t child = argc > 1 ? fork() : 0;
	if (argc > 1 && !child) {
		char byte;
		close(end[1]);
		return (int)read(end[0], &byte, 1);
	}
	getppid();
	struct iovec mine = {&to, sizeof(to)}, theirs = {&from, sizeof(from)};
	say("process_vm_readv", process_vm_readv(own, &mine, 1, &theirs, 1, 0) - 4);
	from = 9;
	say("process_vm_writev", process_vm_writev(own, &theirs, 1, &mine, 1, 0) - 4);
	printf("%d %d\n", from, to);
	say("kcmp", syscall(SYS_kcmp, own, own, 0, end[0], end[0]));
	say("ioprio_get", syscall(SYS_ioprio_get, 1, own) < 0);
	say("migrate_pages", syscall(SYS_migrate_pages, own, 0, NULL, NULL));
	say("F_SETOWN", fcntl(end[0], F_SETOWN, own));
	say("F_GETOWN", fcntl(end[0], F_GETOWN) != getpid());
	if (child) {
		say("F_SETOWN child", fcntl(end[0], F_SETOWN, child));
		say("F_GETOWN child", fcntl(end[0], F_GETOWN) != child);
		close(end[1]);
		say("waitpid", waitpid(child, NULL, 0) != child);
	}
	return 0;
}
