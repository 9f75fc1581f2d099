/* System calls without their wait. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct unwaiting {
	long nr;
	uint64_t args[6];
	long would_wait; /* the answer that means that the call itself would wait */
};

/* False: there is no such form of it. */
bool unwaiting(long nr, const uint64_t args[6], struct unwaiting *u);
/* poll, select, epoll and similar calls, without a wait. */
void unwaiting_poll(long nr, uint64_t args[6]);
