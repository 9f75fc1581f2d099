/* The segment that is written to (log_writer.c); clock_fast.c appends small records to it by itself. */
#ifndef RDB_LOG_SEGMENT_H
#define RDB_LOG_SEGMENT_H
#include <stddef.h>
#include <stdint.h>

enum {
	LOG_END_ROOM = 512, /* kept free in every segment for the END record */
	LOG_MODEL_SLOTS = 64
};

struct log_segment {
	int dirfd, fd;
	unsigned segment;
	uint8_t *base;
	size_t len, off;
	size_t faulted, ahead;            /* pages are present up to here; how many are made present the next time */
	uint64_t closed;                  /* bytes of the segments before */
	struct log_record *last;          /* candidate for repetition, NULL if none */
	uint64_t budget;                  /* bytes of all segments; 0: no limit */
	uint32_t models[LOG_MODEL_SLOTS]; /* where they begin, in words; 0: none (log_shorten.c) */
	uint32_t same; /* the model that the last event does not differ from; 0: none */
};
extern struct log_segment log_;

/* Pages are present up to `end`. */
void log_make_present(size_t end);
static inline void log_present(size_t end)
{
	if (end > log_.faulted)
		log_make_present(end);
}

#endif
