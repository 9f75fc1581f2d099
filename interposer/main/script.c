#include "main/script.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "answer/program.h"
#include "base/descriptors.h"
#include "base/lower.h"

/* The interpreter, its argument and the script's name in place of argv[0]. */
static int put_before(const struct script *s, const char *name)
{
	size_t argc = 0, k = 0;
	while (lower.opt.argv[argc])
		argc++;
	char **v = calloc(argc + 3, sizeof(*v)), *script = strdup(name);
	if (!v || !script)
		return -ENOMEM;
	v[k++] = s->interp;
	if (s->arg)
		v[k++] = s->arg;
	v[k++] = script;
	memcpy(v + k, lower.opt.argv + 1, (argc - 1) * sizeof(*v));
	lower.opt.argv = v;
	return 0;
}

int script_follow(int *program, const char *name)
{
	static struct script scripts[SCRIPTS_NESTED + 1];
	for (unsigned depth = 0;; depth++) {
		struct script *s = &scripts[depth];
		int rc = program_script(*program, s);
		if (rc <= 0)
			return rc;
		rc = put_before(s, name);
		if (rc)
			return rc;
		lower_fd_close(*program);
		*program = program_open(AT_FDCWD, s->interp, 0);
		if (*program < 0)
			return *program;
		if (depth == SCRIPTS_NESTED)
			return -ELOOP;
		name = s->interp;
	}
}
