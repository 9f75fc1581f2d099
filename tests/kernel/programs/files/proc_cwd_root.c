/* proc_pid_cwd(5): cwd and root are links that can be walked through, also when the folder is removed. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

static void target(const char *path)
{
	char text[4096];
	ssize_t length = readlink(path, text, sizeof text - 1);

	MUST(length > 0);
	text[length] = 0;
	printf("%s: %s\n", path, strrchr(text, '/'));
}

int main(void)
{
	struct stat here, there;
	char text[4096];

	MUST(!mkdir("a", 0700) && !mkdir("a/b", 0700) && !chdir("a/b"));
	target("/proc/self/cwd");
	target("/proc/self/root");
	target("/proc/thread-self/cwd");
	MUST(!stat(".", &here) && !stat("/proc/self/cwd/", &there));
	printf("the same: %d\n", here.st_ino == there.st_ino && here.st_dev == there.st_dev);
	SAY(access("/proc/self/root/proc/self/cwd/../b/.", F_OK));
	SAY(close(open("/proc/self/cwd/file", O_CREAT | O_WRONLY, 0600)));
	SAY(unlink("/proc/self/root/proc/self/cwd/file"));
	MUST(!rename("../../a", "../../c"));
	target("/proc/self/cwd");
	SAY(access("../../c/b", F_OK));
	MUST(!rmdir("../b"));
	target("/proc/self/cwd");
	SAY(getcwd(text, sizeof text) ? 0 : -1);
	SAY(access(".", F_OK));
	SAY(access("..", F_OK));
	SAY(open("file", O_CREAT | O_WRONLY, 0600));
	SAY(mkdir("again", 0700));
	MUST(!chdir("/"));
	target("/proc/self/cwd");
	return 0;
}
