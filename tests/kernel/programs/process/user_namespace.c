/* user_namespaces(7): in a new one the process is nobody until a map is written, and has all capabilities. */
#include "../observe.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	printf("%s: %s\n", strrchr(path, '/'), fd >= 0 && write(fd, text, strlen(text)) > 0 ? "ok" : strerrorname_np(errno));
	close(fd);
}

int main(void)
{
	int how;
	pid_t pid = fork();

	if (!pid) {
		char map[64];
		unsigned uid = getuid();
		if (unshare(CLONE_NEWUSER))
			_exit(77);
		printf("%d %d\n", getuid() == 65534, getgid() == 65534);
		put("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		put("/proc/self/uid_map", map);
		put("/proc/self/uid_map", map);
		printf("%u %d\n", getuid(), getgid() == 65534);
		SAY(setuid(5));
		SAY(unshare(CLONE_NEWNET));
		fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(pid, &how, 0) == pid);
	if (WEXITSTATUS(how) == 77)
		skip("user namespaces");
	return 0;
}
