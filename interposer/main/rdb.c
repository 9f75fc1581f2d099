/* `rdb`: executes rdb-python beside it.  Python ignores two signals in itself before any code of ours runs, so a
 * variable tells which of them were ignored before (rdb/launch/inherited.py).
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ignored(int sig)
{
	struct sigaction a;
	return !sigaction(sig, NULL, &a) && a.sa_handler == SIG_IGN;
}

int main(int argc __attribute__((unused)), char **argv)
{
	static const char suffix[] = "-python";
	char path[PATH_MAX + sizeof(suffix)];
	const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	if (n < 0) {
		fprintf(stderr, "rdb: /proc/self/exe: %s\n", strerror(errno));
		return 125;
	}
	memcpy(path + n, suffix, sizeof(suffix));
	const char *names = ignored(SIGPIPE) ? ignored(SIGXFSZ) ? "PIPE,XFSZ" : "PIPE" : ignored(SIGXFSZ) ? "XFSZ" : "";
	if (setenv("RDB_STARTED_IGNORING", names, 1)) {
		fprintf(stderr, "rdb: %s\n", strerror(errno));
		return 125;
	}
	execv(path, argv);
	fprintf(stderr, "rdb: %s: %s\n", path, strerror(errno));
	return 125;
}
