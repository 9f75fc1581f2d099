/* Who may run while a program is recorded: the baton (task/baton.h), as far as crossings have to do with it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct thread;

struct schedule {
	bool (*held)(void);
	void (*give)(void);
	void (*yield)(void);
	/* With --chaos: the thread may sleep now, while others run. */
	void (*late)(void);
	uint64_t (*pick)(uint64_t below); /* a number at random */
	/* A call that waits begins; true: the baton was handed on.  It ends, with that value. */
	bool (*block)(void);
	void (*unblock)(bool given);
	/* This process shares more memory with others: from here on it takes turns with them (task/envoy.h). */
	void (*share)(uint64_t key);
	/* It ends, or becomes another program. */
	void (*leave)(void);
	/* The recording ends: all may run at once. */
	void (*open)(void);
	struct thread *(*visit)(struct thread *visitor, uint32_t before, uint32_t after);
	void (*remind)(void);
};

extern const struct schedule *schedule;
