/* proc_pid_environ(5): shows the environment as execve passed it; setenv does not change it. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/wait.h>

static void show(void)
{
	char text[256];
	int fd = open("/proc/self/environ", O_RDONLY);
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
		char *const now[] = {"LD_BIND_NOW=1", "ONE=1", "no equal sign", "TWO=2", "EMPTY=", NULL};
		execle("/proc/self/exe", arguments[0], "again", NULL, now);
		MUST(0);
	}
	show();
	MUST(!setenv("THREE", "3", 1) && !unsetenv("ONE") && !setenv("TWO", "22", 1));
	show();
	if (!fork()) {
		MUST(!clearenv());
		show();
		_exit(0);
	}
	MUST(wait(&status) > 0);
	printf("%s\n", getenv("TWO"));
	return 0;
}
