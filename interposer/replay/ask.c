#include "replay/ask.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/lower.h"

enum { WORDS = 16, SAID = 400 };

static char said[SAID + 1]; /* what the command printed: why the message cannot be made */

static void read_all(int fd)
{
	char more[256];
	size_t have = 0;
	for (;;) {
		const size_t room = SAID - have;
		ssize_t n = read(fd, room ? said + have : more, room ? room : sizeof(more));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += room ? (size_t)n : 0;
	}
	while (have && said[have - 1] == '\n')
		have--;
	said[have] = 0;
}

static int run(char *const *words)
{
	int ends[2];
	pid_t pid;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	int rc = -posix_spawn(&pid, words[0], &actions, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(ends[1]);
	if (!rc)
		read_all(ends[0]);
	close(ends[0]);
	/* where the kernel reaps children (SIGCHLD is ignored) this returns once it has ended, too */
	while (!rc && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc;
}

const char *ask(void)
{
	char event[24], *words[WORDS + 3], *rest = NULL;
	unsigned n = 0;
	if (!lower.opt.ask)
		return "the recording has only hashes of large messages: run rdb expand to regenerate them";
	char *copy = strdup(lower.opt.ask);
	for (char *word = copy ? strtok_r(copy, "\n", &rest) : NULL; word && n < WORDS;
	     word = strtok_r(NULL, "\n", &rest))
		words[n++] = word;
	snprintf(event, sizeof(event), "%lu", (unsigned long)lower.event);
	words[n++] = (char *)lower.opt.dir;
	words[n++] = event;
	words[n] = NULL;
	int rc = run(words);
	free(copy);
	if (rc)
		snprintf(said, sizeof(said), "the command that regenerates large messages cannot be started: %s",
			 strerror(-rc));
	return *said ? said : NULL;
}
