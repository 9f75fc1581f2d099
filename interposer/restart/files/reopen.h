/* Files of a program that is brought back, opened again. */
#pragma once
#include "restart/base/open_table.h"

/* Opens a file that the program reads or writes, at its offset.  A descriptor or -errno. */
int reopen(struct opened *f);
