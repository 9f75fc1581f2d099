/* execve(2): ETXTBSY where somebody has the program open for writing; also a script's own file. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Linux 6.14; rdb cannot tell on others. */
static void need_check(void)
{
	char *const words[] = {"true", NULL};

	if (syscall(SYS_execveat, AT_FDCWD, "/bin/true", words, words + 1, 0x10000))
		skip("a kernel before 6.14");
}

static int copy(const char *to)
{
	char bytes[65536];
	ssize_t n;
	int from = open("/proc/self/exe", O_RDONLY), out = open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	MUST(from >= 0 && out >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		MUST(write(out, bytes, (size_t)n) == n);
	MUST(!close(from));
	return out;
}

static void run(const char *path)
{
	int status;
	pid_t child = fork();

	if (!child) {
		SAY(execl(path, path, "again", NULL));
		_exit(1);
	}
	MUST(waitpid(child, &status, 0) == child);
	printf("%s: %d\n", path, WEXITSTATUS(status));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return 3;
	need_check();
	int out = copy("./copy");
	run("./copy");
	MUST(!close(out) && (out = open("./copy", O_RDONLY | O_CLOEXEC)) >= 0);
	run("./copy");

	out = open("./script", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	MUST(out >= 0 && write(out, "#!./copy\n", 9) == 9);
	run("./script");
	MUST(!close(out));
	run("./script");
	MUST((out = open("./copy", O_WRONLY | O_CLOEXEC)) >= 0);
	run("./script");
	return 0;
}
