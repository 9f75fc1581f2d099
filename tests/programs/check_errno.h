/* A failed check ends the program with the reason of the last call. */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(ok) \
	do { \
		if (!(ok)) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #ok, strerror(errno)); \
			exit(2); \
		} \
	} while (0)
