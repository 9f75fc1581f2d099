/* Each way in which execve(2) and execveat(2) name a program, and each in which they refuse: by argv[1] one of them, in a
 * child; without, all.  What the program is then, `shown` says: its arguments, AT_EXECFN, its name and its file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char self[4096];

static int shown(int argc, char **argv)
{
	char name[17] = "", file[4096] = "";
	prctl(PR_GET_NAME, name);
	if (readlink("/proc/self/exe", file, sizeof(file) - 1) < 0)
		return 1;
	const char *called = (const char *)getauxval(AT_EXECFN);
	printf("%d arguments:", argc);
	for (int i = 0; i < argc; i++)
		printf(" [%.60s]", argv[i]);
	/* newer kernels take the name of what is executed by a descriptor from the file */
	printf(", called %s, name %s, file %s\n", called, strncmp(called, "/dev/fd/", 8) ? name : "?", strrchr(file, '/') + 1);
	return 0;
}

static void file(const char *name, const char *text, int mode)
{
	FILE *f = fopen(name, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) || chmod(name, mode))
		exit(2);
}

static void copy(const char *from, int to)
{
	char part[65536];
	ssize_t n;
	int fd = open(from, O_RDONLY);
	while ((n = read(fd, part, sizeof(part))) > 0)
		if (write(to, part, n) != n)
			exit(2);
	close(fd);
}

static void copy_to(const char *name)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0755);
	copy(self, fd);
	close(fd);
}

static int at(int dir, const char *path, char *const *argv, int flags)
{
	return (int)syscall(SYS_execveat, dir, path, argv, environ, flags);
}

static char *args[] = {"zero", "shown", NULL};
static char line[8192], long_word[140000];

/* Returns only if it fails. */
static int way(int number)
{
	int fd;
	char **many;
	switch (number) {
	case 0: return execve("here", args, environ);
	case 1: return execve("./here", args, environ);
	case 2: return execve(self, args, environ);
	case 3: return execve("link", args, environ);
	case 4: return execve("script", args, environ);
	case 5: return execve("./script", args, environ);
	case 6: return execve("nested", args, environ);
	case 7: return execve("five", args, environ);
	case 8: return execve("six", args, environ);
	case 9: return execve("blanks", args, environ);
	case 10: return execve("none", args, environ);
	case 11: return execve("dangling", args, environ);
	case 12: return execve("longest", args, environ);
	case 13: return execve("too_long", args, environ);
	case 14: return execve("argument", args, environ);
	case 15: return execve("nothing", args, environ);
	case 16: return execve("data", args, environ);
	case 17: return execve("empty", args, environ);
	case 18: return execve("folder", args, environ);
	case 19: return execve("nowhere", args, environ);
	case 20: return execve("here/below", args, environ);
	case 21: return execve("", args, environ);
	case 22: return execve("loop", args, environ);
	case 23: return execve("interpreter is gone", args, environ);
	case 24: return execve("script", (char *[]){NULL}, environ);
	case 25: return execve(self, (char *[]){NULL}, (char *[]){"SHOW=1", NULL});
	case 26: return execve(self, args, NULL);
	case 27: return execve("/proc/self/exe", args, environ);
	case 28: return fexecve(open("here", O_RDONLY), args, environ);
	case 29: return fexecve(open("here", O_RDONLY | O_CLOEXEC), args, environ);
	case 30: return at(open("here", O_PATH), "", args, AT_EMPTY_PATH);
	case 31: return at(open("here", O_PATH), "", args, 0);
	case 32: return at(open("script", O_RDONLY), "", args, AT_EMPTY_PATH);
	case 33: return at(open("script", O_RDONLY | O_CLOEXEC), "", args, AT_EMPTY_PATH);
	case 34: return at(open(".", O_PATH), "here", args, 0);
	case 35: return at(open(".", O_PATH | O_CLOEXEC), "here", args, 0);
	case 36: return at(open(".", O_PATH), "script", args, 0);
	case 37: return at(open(".", O_PATH | O_CLOEXEC), "script", args, 0);
	case 38: return at(open("folder", O_PATH), "../here", args, 0);
	case 39: return at(open(".", O_PATH), self, args, 0);
	case 40: return at(-1, self, args, 0);
	case 41: return at(-1, "here", args, 0);
	case 42: return at(9999, "", args, AT_EMPTY_PATH);
	case 43: return at(open("here", O_RDONLY), "there", args, 0);
	case 44: return at(AT_FDCWD, "here", args, 0);
	case 45: return at(AT_FDCWD, "", args, AT_EMPTY_PATH);
	case 46: return at(AT_FDCWD, "link", args, AT_SYMLINK_NOFOLLOW);
	case 47: return at(AT_FDCWD, "here", args, AT_SYMLINK_NOFOLLOW);
	case 48: return at(AT_FDCWD, "here", args, 0x40000000);
	case 49: return at(open(".", O_PATH), "", args, AT_EMPTY_PATH);
	case 50: /* without a name from the start */
		fd = memfd_create("memory", 0);
		copy(self, fd);
		return fexecve(fd, args, environ);
	case 51:
		fd = memfd_create("memory", MFD_CLOEXEC);
		copy(self, fd);
		return fexecve(fd, args, environ);
	case 52: /* a script there */
		fd = memfd_create("memory", 0);
		copy("script", fd);
		return fexecve(fd, args, environ);
	case 53: /* and that has lost it */
		copy_to("lost");
		fd = open("lost", O_RDONLY | O_CLOEXEC);
		unlink("lost");
		return fexecve(fd, args, environ);
	case 54:
		snprintf(line, sizeof(line), "/proc/self/fd/%d", open("here", O_RDONLY));
		return execve(line, args, environ);
	case 55:
		memset(long_word, 'x', 131071);
		return execve(self, (char *[]){"zero", "shown", long_word, NULL}, environ);
	case 56:
		memset(long_word, 'x', 131072);
		return execve(self, (char *[]){"zero", "shown", long_word, NULL}, environ);
	case 57: /* far too much, and again: nothing is lost by it */
		many = calloc(3000001, sizeof(*many));
		for (int i = 0; i < 3000000; i++)
			many[i] = "four";
		execve(self, many, environ);
		return execve(self, many, environ);
	case 58: /* what the stack's limit allows */
		setrlimit(RLIMIT_STACK, &(struct rlimit){1 << 20, 1 << 20});
		memset(long_word, 'x', 100000);
		return execve(self, (char *[]){"zero", "shown", long_word, long_word, long_word, NULL}, environ);
	case 59: return execve(self, (char *const *)8, environ);
	case 60: return execve((const char *)8, args, environ);
	case 61: return execve(self, args, (char *const *)8);
	case 62: return execve(NULL, args, environ);
	default: return 1;
	}
}

static void make(void)
{
	char text[5000], spaces[300];
	mkdir("ways", 0755);
	if (chdir("ways"))
		exit(2);
	copy_to("here");
	symlink("here", "link");
	symlink("loop", "loop");
	file("script", "#!./here shown\n", 0755);
	file("nested", "#!./script of the script\n", 0755);
	file("five", "#!./four\n", 0755);
	file("four", "#!./three\n", 0755);
	file("three", "#!./two\n", 0755);
	file("two", "#!./script\n", 0755);
	file("six", "#!./five\n", 0755);
	file("blanks", "#! \t ./here \t shown and  more\t \n", 0755);
	file("none", "#!  \n", 0755);
	file("dangling", "#!/nowhere/at/all\n", 0755);
	memset(spaces, ' ', sizeof(spaces));
	snprintf(text, sizeof(text), "#!./here shown%.*sx\nrest", 230, spaces);
	file("longest", text, 0755);
	snprintf(text, sizeof(text), "#!./%.*sx\n", 300, spaces);
	memset(text + 4, 'y', 300);
	file("too_long", text, 0755);
	snprintf(text, sizeof(text), "#!./here shown %.*s", 300, spaces);
	memset(text + 16, 'z', 290);
	file("argument", text, 0755);
	file("nothing", "#!./here shown\n", 0644);
	file("data", "no program\n", 0755);
	file("empty", "", 0755);
	mkdir("folder", 0755);
	file("interpreter is gone", "#!./nobody\n", 0755);
}

int main(int argc, char **argv)
{
	if (getenv("SHOW") || (argc > 1 && !strncmp(argv[1], "shown", 5)))
		return shown(argc, argv);
	if (!realpath("/proc/self/exe", self))
		return 2;
	make();
	for (int number = 0; number <= 62; number++) {
		int status;
		fflush(stdout);
		if (!fork()) {
			way(number);
			printf("%d: %s\n", number, strerror(errno));
			return 9;
		}
		if (wait(&status) < 0)
			return 2;
		printf("%d ended with %d\n", number, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	}
	return 0;
}
