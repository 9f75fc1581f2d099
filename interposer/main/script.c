#include "main/script.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/lower.h"
#include "answer/loader.h"

static int follow(char *path, const char *name, unsigned depth)
{
	static char line[5][4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line[depth], sizeof(line[0]) - 1);
	if (fd >= 0)
		close(fd);
	if (n < 3 || strncmp(line[depth], "#!", 2))
		return 0;
	line[depth][n] = 0;
	line[depth][strcspn(line[depth], "\n")] = 0;
	char *interp = line[depth] + 2 + strspn(line[depth] + 2, " \t");
	char *arg = interp + strcspn(interp, " \t");
	if (*arg)
		*arg++ = 0;
	arg += strspn(arg, " \t");
	for (char *end = arg + strlen(arg); end > arg && strchr(" \t", end[-1]);)
		*--end = 0;
	size_t argc = 0;
	while (lower.opt.argv[argc])
		argc++;
	char **v = calloc(argc + 3, sizeof(*v)), *script = strdup(name);
	if (!v || !script)
		return -ENOMEM;
	size_t k = 0;
	v[k++] = interp;
	if (*arg)
		v[k++] = arg;
	v[k++] = script;
	memcpy(v + k, lower.opt.argv + 1, (argc - 1) * sizeof(*v));
	lower.opt.argv = v;
	int rc = loader_find(interp, path);
	return rc ? rc : depth == 4 ? -ELOOP : follow(path, interp, depth + 1);
}

int script_follow(char *path, const char *name)
{
	return follow(path, name, 0);
}
