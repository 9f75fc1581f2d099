/* Variables of ld.so(8), such as LD_PRELOAD, are for the program.  rdb-exec has a dynamic linker of its own, which would act on
 * them, so it is started with them under other names.  LD_LIBRARY_PATH stays: the real MPI may be found by it.
 * rdb/launch/inherited.py hides them first. */
#ifndef RDB_LINKER_VARIABLES_H
#define RDB_LINKER_VARIABLES_H

/* A copy of the environment in which they are hidden; NULL: there is no memory for it. */
char **linker_variables_hidden(char *const *envp);
/* They get their names again, in place. */
void linker_variables_shown(char **envp);

#endif
