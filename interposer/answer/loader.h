/* Loads a program into the arena as the kernel's execve does (elf(5), binfmt_elf, auxv: getauxval(3)). */
#pragma once
#include <stdint.h>

struct loaded {
	uint64_t pc; /* where to start: the interpreter, or the gate's start code for a static program */
	uint64_t sp;
};

/* Maps program, interpreter and stack; fills lower.upper.  program: its descriptor (program.h); path: what
 * /proc/self/exe shows; called: AT_EXECFN.  0, or -errno with *why (static text). */
int loader_load(int program, const char *path, const char *called, char **argv, char **envp, struct loaded *out,
		const char **why);
