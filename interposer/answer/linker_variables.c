#include "answer/linker_variables.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static const char prefix[] = "rdb:";

static bool hides(const char *variable)
{
	return !strncmp(variable, "LD_", 3) && strncmp(variable, "LD_LIBRARY_PATH=", 16) &&
	       strncmp(variable, "LD_BIND_NOW=", 12);
}

char **linker_variables_hidden(char *const *envp, size_t *size)
{
	size_t n = 0, bytes = 0;
	for (; envp && envp[n]; n++)
		bytes += hides(envp[n]) ? sizeof(prefix) + strlen(envp[n]) : 0;
	/* no malloc: after vfork the process may share its memory with one that is inside malloc */
	*size = (n + 1) * sizeof(char *) + bytes;
	char **copy = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return NULL;
	char *text = (char *)(copy + n + 1);
	for (size_t i = 0; i < n; i++) {
		copy[i] = envp[i];
		if (!hides(envp[i]))
			continue;
		copy[i] = text;
		text = stpcpy(stpcpy(text, prefix), envp[i]) + 1;
	}
	return copy;
}

void linker_variables_shown(char **envp)
{
	for (; *envp; envp++)
		if (!strncmp(*envp, prefix, sizeof(prefix) - 1))
			*envp += sizeof(prefix) - 1;
}
