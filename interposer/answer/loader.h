/* Loading a program into the arena as the kernel's execve would (elf(5), binfmt_elf, auxv: getauxval(3)). */
#ifndef RDB_LOADER_H
#define RDB_LOADER_H
#include <stdint.h>

struct loaded {
	uint64_t pc; /* where to start: the interpreter, or the gate's start code for a static program */
	uint64_t sp;
};

/* Finds PROG as execvp(3) does; fills path (4096 bytes).  0, -ENOENT, -EACCES. */
int loader_find(const char *prog, char *path);
/* Maps program, interpreter and stack; fills lower.upper.  CALLED: AT_EXECFN.  0, or -errno with *why (static text). */
int loader_load(const char *path, const char *called, char **argv, char **envp, struct loaded *out, const char **why);

#endif
