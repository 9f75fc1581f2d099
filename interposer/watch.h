/* Watchpoints: stop after the instruction or event that changed (or touched) a location.
 *
 * Up to four aligned pieces of 1, 2, 4 or 8 bytes are watched by the processor (perf_event with
 * sigtrap on ourselves).  Over that, or where perf events are not to be had, the program is stepped
 * and each instruction's accesses are compared with the location.
 */
#ifndef RDB_WATCH_H
#define RDB_WATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "emulate.h"

#define WATCH_MAX 4096 /* longest location, bytes */

struct watch_hit {
	uint64_t id; /* 0: none */
	uint64_t addr;
	uint64_t hits; /* of this watchpoint since the last event or the start of this RUN/STEP */
};

/* 0 hardware, 1 slow, -errno. */
int watch_set(uint64_t id, uint64_t addr, uint64_t len, uint64_t kind);
int watch_clear(uint64_t id); /* -ENOENT */
void watch_clear_all(void);
/* In a forked child: perf events stay with the parent, only their descriptors came along. */
void watch_forked(void);

bool watch_any(void);
/* Some watchpoint cannot be kept by the processor. */
bool watch_needs_stepping(void);

/* The start of a RUN/STEP: remembers the values; with `hardware` the processor watches from here
 * until watch_stop(). */
void watch_start(bool hardware);
void watch_stop(void);

/* While the lower half itself carries out instructions. */
void watch_pause(void);
void watch_resume(void);

/* After an instruction: its accesses, or NULL when they are not known (all values are compared, and
 * the processor asked for what else it saw). */
void watch_check(const struct emulated *did, uint64_t event, uint64_t run, struct watch_hit *hit);
/* After an event: only changed values count. */
void watch_check_event(uint64_t event, uint64_t run, struct watch_hit *hit);

#endif
