/* Programs of this folder do something that a man page describes and print what they see of it.
 *
 * What one prints is the same each time it runs natively: no addresses, numbers of processes, times, or orders that
 * the scheduler decides.  It runs in an empty folder, as any user; what a machine may lack ends with `skip`. */
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prints what a call answered: -1 and the name of its reason, or its result. */
#define SAY(call) say(#call, (long)(call))
/* The same where a good result differs from run to run: descriptors, process numbers, addresses. */
#define OK(call) ok(#call, (long)(call))
/* What must be so natively, or the program has no meaning: else it ends with 99. */
#define MUST(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno)); \
			exit(99); \
		} \
	} while (0)

/* The result is returned; errno stays. */
static inline long say(const char *call, long result)
{
	int reason = errno;

	if (result == -1)
		printf("%s: %s\n", call, strerrorname_np(reason));
	else
		printf("%s: %ld\n", call, result);
	fflush(stdout);
	errno = reason;
	return result;
}

static inline long ok(const char *call, long result)
{
	int reason = errno;

	printf("%s: %s\n", call, result == -1 ? strerrorname_np(reason) : "ok");
	fflush(stdout);
	errno = reason;
	return result;
}

/* Ends the program: this machine cannot do WHAT, natively neither. */
static inline void skip(const char *what)
{
	fprintf(stderr, "skip: %s\n", what);
	exit(77);
}
