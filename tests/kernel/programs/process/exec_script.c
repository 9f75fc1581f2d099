/* execve(2): a script's interpreter gets one optional argument, the script's path, then the arguments. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void run(const char *text)
{
	int how, fd = open("script", O_CREAT | O_TRUNC | O_WRONLY, 0700);
	MUST(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	pid_t pid = fork();
	if (!pid) {
		execl("./script", "name", "one two", "three", NULL);
		_exit(errno);
	}
	MUST(waitpid(pid, &how, 0) == pid);
	printf("%s\n", WEXITSTATUS(how) ? strerrorname_np(WEXITSTATUS(how)) : "ran");
	fflush(stdout);
}

int main(void)
{
	run("#!/usr/bin/printf %s|\n");
	run("#!/bin/echo   a  b \n");
	run("#! /bin/sh\necho \"$0\" \"$1\" $#\n");
	run("#!\n");
	run("#!/does/not/exist\n");
	run("no interpreter\n");
	return 0;
}
