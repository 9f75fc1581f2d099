#pragma once
#include <stdbool.h>

bool fsgsbase_there(void); /* FSGSBASE instructions, Linux 5.9; else thread_pointer.c */
