/* The file of a program, as execve(2) finds, checks and reads it.  It is known by a descriptor: it may have no name
 * (memfd_create(2)), or have lost it. */
#pragma once
#include <stdbool.h>

enum { SCRIPT_LINE = 256, SCRIPTS_NESTED = 5 }; /* as in the kernel: BINPRM_BUF_SIZE, exec_binprm() */

struct script {
	char line[SCRIPT_LINE];
	char *interp, *arg; /* in `line`; arg: NULL, or the rest of the line as one argument */
};

/* Opens by the arguments of execveat(2); AT_FDCWD and no flags: execve(2).  An O_PATH descriptor or -errno. */
int program_open(int dir, const char *path, int flags);
/* Opens by a name; without a slash it is searched for in --path, then in PATH, as execvp(3) does. */
int program_find(const char *name);
/* The path that /proc/self/exe will show. 0 or -errno. */
int program_path(int fd, char path[4096]);
/* Opens the same file for reading. */
int program_reopen(int fd);
/* Reads `#!interpreter [argument]`. 1: found; 0: not a script; -ENOEXEC: the interpreter's name is missing or too
 * long. */
int program_script(int fd, struct script *s);
/* Could execve(2) run it? 0 or -errno. nameless: a script has no name by which its interpreter could open it. */
int program_can_run(int fd, bool nameless);

/* execveat(2) with AT_EXECVE_CHECK: says how it would fail, and executes nothing.  Before Linux 6.14 always -EINVAL. */
enum { PROGRAM_CHECK = 0x10000 };
long program_check(int dir, const char *path, char *const *argv, char *const *envp, int flags);
/* Does the kernel know it? */
bool program_can_check(void);
