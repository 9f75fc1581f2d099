/* The segment that is written to (log_writer.c); clock_fast.c appends small records to it by itself. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "interface/log_format.h"

enum {
	LOG_END_ROOM = 512, /* kept free in every segment for the END record */
	LOG_MODEL_SLOTS = 64
};

struct log_segment {
	int dirfd, fd;
	unsigned segment;
	uint8_t *base;
	size_t len, off;
	size_t faulted, ahead;   /* pages are present up to here; how many are made present the next time */
	size_t ready;            /* up to here the page cache has them, mapped or not (log_ahead()) */
	size_t large;            /* the last large record */
	uint64_t closed;         /* bytes of the segments before */
	struct log_record *last; /* candidate for repetition, NULL if none */
	uint64_t budget;         /* bytes of all segments; 0: no limit */
	/* Offsets of model records, in words; 0: none.  models[]: by the question with all its arguments; forms[]: by
	 * its form alone (log_shorten.c). */
	struct {
		uint32_t at, asked;
		uint32_t other, row; /* checksum of the last answer that differed from the model's; how often it came */
	} models[LOG_MODEL_SLOTS];
	unsigned way; /* which of the slots of a question is taken next, if others have them all */
	uint32_t forms[LOG_MODEL_SLOTS];
	uint32_t same; /* the model that the last event equals; 0: none */
	struct {
		size_t at;                           /* of the log_cycle that ends the log so far, or 0 */
		uint64_t begun;                      /* when the event before began, as struct event has it */
		unsigned period, next;               /* next: of recent[] */
		uint32_t recent[2 * LOG_PERIOD_MAX]; /* as `same`, of the newest events */
	} cycle;                                     /* log_cycle.c */
};
extern struct log_segment log_;

/* A record is appended that is no turn of a cycle. */
static inline void log_cycle_ends(void)
{
	log_.cycle.at = 0;
	log_.cycle.recent[log_.cycle.next++ % (2 * LOG_PERIOD_MAX)] = 0;
}

/* Makes pages present up to `end`. */
void log_make_present(size_t end);
static inline void log_present(size_t end)
{
	if (end > log_.faulted)
		log_make_present(end);
}
