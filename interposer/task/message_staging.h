/* Staging (staging.h) for calls that wait for more of a socket than they find. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct message_staging {
	long nr;
	uint64_t args[6]; /* as the program gave them */
	char *room;       /* the copies */
	size_t used;
	struct mmsghdr *copies; /* as the kernel sees them */
	struct msghdr *given;   /* as the program gave them, with copies of their vectors */
};

/* `own` becomes the arguments to call with.  -EFAULT, -ENOMEM: the call is to be made without.  Needs the baton. */
int message_staging_in(struct message_staging *b, long nr, const uint64_t args[6], uint64_t own[6]);
/* With the baton again: the program gets what came.  The result of the call. */
long message_staging_out(struct message_staging *b, const uint64_t own[6], long result);
