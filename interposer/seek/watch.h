/* Watchpoints: stop after the instruction or event that changed (or touched) a location.
 *
 * Up to four aligned pieces of 1, 2, 4 or 8 bytes are watched by the processor (perf_event with sigtrap on ourselves).
 * Beyond that, or without perf events, the pages that hold the location are closed (page_guard.h) while the program
 * runs natively, and each instruction that touches them is looked at.  Where they cannot be, and in steps, every
 * instruction is. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "text/emulate.h"

#define WATCH_MAX (16u << 20) /* longest location, bytes */

struct watch_hit {
	uint64_t id; /* 0: none */
	uint64_t addr;
	uint64_t hits; /* of this watchpoint since the last event or the start of this RUN/STEP */
};

/* 0 hardware, 1 slower, -errno. */
int watch_set(uint64_t id, uint64_t addr, uint64_t len, uint64_t kind);
int watch_clear(uint64_t id); /* -ENOENT */
void watch_clear_all(void);
/* In a forked child: perf events stay with the parent, only their descriptors came along. */
void watch_forked(void);

bool watch_any(void);
/* Some watchpoint can be kept neither by the processor nor by its pages.  Nothing may be closed. */
bool watch_needs_stepping(void);
/* Mappings in [start, end) were replaced. */
void watch_remapped(uint64_t start, uint64_t end);

/* The start of a RUN/STEP: remembers the values; with `hardware` the processor watches from the next
 * watch_resume() until watch_stop(). */
void watch_start(bool hardware);
void watch_stop(void);

/* Pauses and resumes the processor's watchpoints: what the agent itself reads and writes, including an instruction's
 * text, is not the program's access.  watch_pause() returns whether they were paused before. */
bool watch_pause(void);
void watch_resume(void);
/* Would our own read of these bytes trigger a watchpoint of the processor? */
bool watch_sees(uint64_t addr, uint64_t len);

/* The processor's trap has come, of which perf has counted the access or not. */
void watch_trapped(bool counted);
/* After an instruction: its accesses, or NULL when they are not known.  Unless they are `exact`, all
 * values are compared, and the processor is asked for what else it saw. */
void watch_check(const struct emulated *did, bool exact, uint64_t event, uint64_t run, struct watch_hit *hit);
/* After an event: only changed values count. */
void watch_check_event(uint64_t event, uint64_t run, struct watch_hit *hit);
