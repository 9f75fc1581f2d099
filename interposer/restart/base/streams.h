/* What each process of a tree did to open files that several of them have, and when: a stream for each file, in the
 * restart's directory (stream-NUMBER-PROCESS). At the cut the process that makes the file again reads all its
 * streams. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_kind {
	OP_WRITE, /* bytes */
	OP_READ,  /* of a pipe: bytes; of a file: how many, uint64_t */
	OP_APPEND,
	OP_AT,   /* pwrite(2): where, then bytes */
	OP_SEEK, /* where it is now */
	OP_CUT,  /* ftruncate(2): how long it is now */
	OP_SET,  /* a timer: struct timer_set */
};

struct op {
	uint64_t at_ns, begun_ns; /* times of the call's answer, and of the event before it */
	uint32_t len, kind, process, unused;
	/* bytes */
};

struct all_ops {
	uint8_t *bytes;
	size_t len;
	const struct op **ops; /* in order of time */
	size_t n;
};

/* A new stream number, unique among all processes. */
unsigned stream_new(void);
void stream_add(unsigned number, enum op_kind kind, const void *bytes, uint64_t len);
/* Bytes of a pipe or a socket. */
void stream_moved(unsigned number, const void *bytes, uint64_t len, bool writing);
/* Bytes that a branch began with: before all other operations. */
void stream_began(unsigned number, const void *bytes, uint64_t len);
/* An operation with two parts. */
void stream_add_at(unsigned number, uint64_t offset, const void *bytes, uint64_t len);
/* Writes the streams of this program to files. */
void streams_tell(void);
/* Reads all streams of that number, once all processes have written theirs. */
void stream_gather(struct all_ops *all, unsigned number);
void stream_free(struct all_ops *all);
/* Bytes written and not read, in *left.  The caller frees *whole, which is all that was written. */
size_t stream_left(const struct all_ops *all, uint8_t **whole, uint8_t **left);
