/* Shared by the programs that make every system call of a family once. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Says where it failed and with what, and ends the program. */
#define NEED(condition)                                                                                 \
	do {                                                                                            \
		if (!(condition)) {                                                                     \
			printf("line %d: %s: %s\n", __LINE__, #condition, strerror(errno));             \
			exit(1);                                                                        \
		}                                                                                       \
	} while (0)
