/* The segment that is written to (log_writer.c); clock_fast.c appends small records to it by itself. */
#ifndef RDB_LOG_SEGMENT_H
#define RDB_LOG_SEGMENT_H
#include <stddef.h>
#include <stdint.h>

enum { LOG_END_ROOM = 512 }; /* kept free in every segment for the END record */

struct log_segment {
	int dirfd, fd;
	unsigned segment;
	uint8_t *base;
	size_t len, off;
	size_t faulted, ahead;   /* pages are present up to here; how many are made present the next time */
	uint64_t closed;         /* bytes of the segments before */
	struct log_record *last; /* candidate for repetition, NULL if none */
};
extern struct log_segment log_;

#endif
