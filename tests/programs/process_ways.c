/* Ways to start another program, one line of output for each: process_ways WAY... */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int wait_for(pid_t pid)
{
	int status = -1;
	if (waitpid(pid, &status, 0) != pid)
		perror("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void spawn(const char *path)
{
	char *argv[] = {"sh", "-c", "exit 6", NULL};
	pid_t pid = 0;
	int rc = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	printf("posix_spawn %s: %s\n", path, rc ? strerror(rc) : "started");
	if (!rc)
		printf("its code: %d\n", wait_for(pid));
}

/* vfork's child runs in its parent's memory: the parent sees what it wrote. */
static void vforked(const char *path)
{
	static volatile int seen;
	volatile int on_stack = 1;
	pid_t pid = vfork();
	if (pid == 0) {
		on_stack = 2;
		execl(path, "sh", "-c", "exit 8", (char *)NULL);
		seen = errno;
		_exit(7);
	}
	printf("vfork %s: %d, errno %d, on stack %d\n", path, wait_for(pid), seen, on_stack);
}

static void failing(const char *path)
{
	execl(path, "x", (char *)NULL);
	printf("execve %s: %s\n", path, strerror(errno));
}

static void killed(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		raise(SIGKILL);
		_exit(1);
	}
	printf("a killed child: %d\n", wait_for(pid));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		const char *way = argv[i];
		if (!strcmp(way, "spawn")) {
			spawn("/bin/sh");
			spawn("/no/such/program");
		} else if (!strcmp(way, "vfork")) {
			vforked("/bin/sh");
			vforked("/no/such/program");
		} else if (!strcmp(way, "system")) {
			printf("system: %d\n", WEXITSTATUS(system("echo from system; exit 3")));
		} else if (!strcmp(way, "popen")) {
			char line[64] = "";
			FILE *file = popen("echo from popen; exit 4", "r");
			printf("popen: %s", fgets(line, sizeof(line), file));
			printf("pclose: %d\n", WEXITSTATUS(pclose(file)));
		} else if (!strcmp(way, "killed")) {
			killed();
		} else {
			failing(way);
		}
	}
	return 5;
}
