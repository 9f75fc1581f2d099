/* Interpreter scripts: `#!interpreter [argument]` (execve(2)). */
#pragma once

/* Puts the interpreters before the command line; *program (answer/program.h) becomes the last interpreter's.  name:
 * what the script was called.  Returns 0, also if it is no script, or -errno: not found, or scripts nested too deep. */
int script_follow(int *program, const char *name);
