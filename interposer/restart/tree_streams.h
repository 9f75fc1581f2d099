/* What each process of a tree did to open files that several of them have, with the time of it: a stream for each, in the
 * restart's directory (stream-NUMBER-PROCESS).  At the cut whoever makes the file as it was then reads all of them. */
#ifndef RDB_TREE_STREAMS_H
#define RDB_TREE_STREAMS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_kind {
	OP_WRITE, /* bytes */
	OP_READ,  /* of a pipe bytes; of a file how many: uint64_t */
	OP_APPEND,
	OP_AT,   /* pwrite(2): where, then bytes */
	OP_SEEK, /* where it is now */
	OP_CUT,  /* ftruncate(2): how long it is now */
	OP_SET,  /* a timer: struct timer_set */
};

struct op {
	uint64_t at_ns, begun_ns; /* the call's answer; it was not asked for before that */
	uint32_t len, kind, process, unused;
	/* bytes */
};

struct all_ops {
	uint8_t *bytes;
	size_t len;
	const struct op **ops; /* in the order of time */
	size_t n;
};

void stream_add(unsigned number, enum op_kind kind, const void *bytes, uint64_t len);
/* Of the past: before all others. */
void stream_began(unsigned number, const void *bytes, uint64_t len);
/* An operation with two parts. */
void stream_add_at(unsigned number, uint64_t offset, const void *bytes, uint64_t len);
/* What this program has done is written down; where it is in files. */
void streams_tell(void);
/* All have told. */
void stream_gather(struct all_ops *all, unsigned number);
void stream_free(struct all_ops *all);
/* What was written and not read, to be freed; *whole: all that was written. */
size_t stream_left(const struct all_ops *all, uint8_t **whole, uint8_t **left);

#endif
