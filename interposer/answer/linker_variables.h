/* Variables of ld.so(8), such as LD_PRELOAD, are meant for the program. rdb-exec's own dynamic linker would act on
 * them, so rdb-exec is started with them under other names.  LD_LIBRARY_PATH stays: it may be needed to find the real
 * MPI. rdb/launch/inherited.py hides them first. */
#pragma once
#include <stddef.h>

/* A copy of the environment with these variables hidden, to be freed by munmap(2); NULL: no memory. */
char **linker_variables_hidden(char *const *envp, size_t *size);
/* Gives them their names back, in place. */
void linker_variables_shown(char **envp);
