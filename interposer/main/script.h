/* Interpreter scripts: `#!interpreter [argument]` (execve(2)). */
#ifndef RDB_SCRIPT_H
#define RDB_SCRIPT_H

/* Puts the interpreter before the command line, path becomes its path; name is what the script was called by.
 * 0, also where it is no script, or -errno: not found, or scripts nested too deep. */
int script_follow(char *path, const char *name);

#endif
