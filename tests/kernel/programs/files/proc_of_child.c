/* proc(5): a parent reads its child's stat, comm, cwd and fd; of a zombie, exe and cwd cannot be read. */
#include "../observe.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char root[64];

static void state(void)
{
	char path[128], text[512], letter;
	FILE *file;

	snprintf(path, sizeof path, "%s/stat", root);
	MUST((file = fopen(path, "r")) && fgets(text, sizeof text, file));
	MUST(sscanf(strrchr(text, ')'), ") %c", &letter) == 1);
	printf("%.*s %c\n", (int)(strrchr(text, ')') - strchr(text, '(')), strchr(text, '('), letter);
	fclose(file);
}

static void target(const char *name)
{
	char path[128], text[4096];
	ssize_t length;

	snprintf(path, sizeof path, "%s/%s", root, name);
	length = readlink(path, text, sizeof text - 1);
	text[length < 0 ? 0 : length] = 0;
	printf("%s: %s\n", name, length < 0 ? strerrorname_np(errno) : strrchr(text, '/'));
}

int main(void)
{
	char path[128];
	int status;
	siginfo_t info;

	MUST(!mkdir("below", 0700));
	pid_t child = fork();
	if (!child) {
		MUST(!chdir("below") && !prctl(PR_SET_NAME, "the child"));
		MUST(dup2(open("file", O_CREAT | O_RDWR, 0600), 50) == 50);
		raise(SIGSTOP);
		_exit(3);
	}
	MUST(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
	snprintf(root, sizeof root, "/proc/%d", child);
	state();
	target("cwd");
	target("fd/50");
	snprintf(path, sizeof path, "%s/fd/50", root);
	int fd = open(path, O_WRONLY);
	MUST(fd >= 0);
	SAY(write(fd, "by the parent", 13));
	MUST(!kill(child, SIGCONT) && !waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	state();
	target("cwd");
	target("exe");
	target("fd/50");
	MUST(waitpid(child, &status, 0) == child);
	SAY(WEXITSTATUS(status));
	SAY(access(root, F_OK));
	return 0;
}
