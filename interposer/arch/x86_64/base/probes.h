#ifndef RDB_X86_64_PROBES_H
#define RDB_X86_64_PROBES_H
#include <stdbool.h>

bool fsgsbase_there(void); /* FSGSBASE instructions, Linux 5.9; else thread_pointer.c */

#endif
