/* execve(2): mappings, locks and alternate stack of the program before are gone; environ and argv are the new ones. */
#include "../observe.h"
#include <signal.h>
#include <sys/mman.h>

extern char **environ;

int main(int argc, char **argv)
{
	static char stack[16384];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
	char *env[] = {"A=1", "B=", "C", NULL};

	if (argc == 3) {
		MUST(!sigaltstack(NULL, &alt));
		printf("%d '%s' '%s'\n", alt.ss_flags == SS_DISABLE, argv[1], argv[2]);
		for (int i = 0; environ[i]; i++)
			if (strncmp(environ[i], "LD_", 3))
				puts(environ[i]);
		return 0;
	}
	MUST(!sigaltstack(&alt, NULL));
	execve(argv[0], (char *[]){argv[0], "", "x y", NULL}, env);
	return 1;
}
