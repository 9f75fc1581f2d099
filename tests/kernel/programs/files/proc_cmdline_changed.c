/* proc_pid_cmdline(5): a program that overwrites its arguments changes what is read there. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/wait.h>

static void show(void)
{
	char text[256];
	int fd = open("/proc/self/cmdline", O_RDONLY);
	ssize_t length = read(fd, text, sizeof text);

	MUST(length >= 0);
	close(fd);
	for (ssize_t i = 0; i < length; i++)
		putchar(text[i] ? text[i] : '|');
	putchar('\n');
	fflush(stdout);
}

int main(int count, char **arguments)
{
	int status;

	if (count == 1) {
		char *const now[] = {"program", "first", "", "third", NULL};
		execv("/proc/self/exe", now);
		MUST(0);
	}
	show();
	strcpy(arguments[1], "FIRS");
	show();
	arguments[2] = "a pointer alone changes nothing";
	show();
	memcpy(arguments[0], "prog", 5);
	show();
	if (!fork()) {
		strcpy(arguments[0], "child");
		show();
		_exit(0);
	}
	MUST(wait(&status) > 0);
	show();
	return 0;
}
