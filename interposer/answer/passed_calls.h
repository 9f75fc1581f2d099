/* System calls that the kernel does not get as the program made them: other arguments, or rdb's own answer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>
#include "answer/other_names.h"
#include "crossing/event.h"

/* A call on its way to the kernel. */
struct passed {
	struct event *ev;
	ucontext_t *uc;
	bool *in_child;        /* set where this is a forked child now */
	uint64_t a[6];         /* its arguments for the kernel */
	bool masked;           /* it waits with a mask of its own for signals, which rdb applies */
	char room[2][LONGEST]; /* for paths */
	siginfo_t marked;
};

/* True: *made is the answer.  Else the kernel is to be asked, with p->a. */
bool passed_call(struct passed *p, long *made);
