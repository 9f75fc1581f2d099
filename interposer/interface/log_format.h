/* The log of one rank: a directory of segments `log-000000.seg`, `log-000001.seg`, ...
 *
 * A segment is a struct log_segment_header followed by records.  A record is a struct log_record, nargs 64-bit
 * arguments, then chunks; everything is little-endian and 8-byte aligned. `size` is stored last (release), so after
 * SIGKILL the log ends at the first zero size.  A segment ends at a zero size or at its end; the next segment
 * continues.
 *
 * A record that differs little from an earlier one of the same segment, its model, is stored as a struct log_short:
 * most events of a loop are.  The lowest bit of its size is set.  A cycle of several such records is counted in a
 * struct log_cycle.
 *
 * In a bounded recording (--keep) the segments from 1 up to some number are removed.  Segment 0 then holds only META
 * and FILE records, and its header has the event at which the recording now begins.
 *
 * Between two records only the thread of the earlier one runs (task/thread.h).
 *
 * An event is a crossing of the boundary.  Event 0 is the start of the program (its entry point, after ld.so); the
 * state "at event N" is the state right after event N has been answered.
 */
#pragma once
#include <stdint.h>

#define RDB_LOG_MAGIC 0x31676f6c62647200ull
#define RDB_LOG_VERSION 8

struct log_segment_header {
	uint64_t magic;
	uint32_t version;
	uint32_t index;       /* 0, 1, ... */
	uint64_t first_event; /* number of the first event that starts in this segment */
	uint64_t check;       /* crc32c of the 24 bytes before */
};

enum log_kind {
	LOG_META = 1,       /* not an event.  One chunk: a JSON object about the process (meta.c) */
	LOG_START = 2,      /* event 0 */
	LOG_SYSCALL = 3,    /* event.  nr = system call number, args = its 6 arguments */
	LOG_HYPERCALL = 4,  /* event.  nr = fn (gate.h), args = the stub's arguments */
	LOG_UPCALL = 5,     /* event.  The lower half calls upper function args[0] with args[1..] */
	LOG_SIGNAL = 6,     /* event.  nr = signal number */
	LOG_TSC = 7,        /* event.  nr = 0 rdtsc / 1 rdtscp / 2 rdrand / 3 rdseed, result = value; rdtscp: a note
	              * holds the 32-bit aux.  4 cpuid: args = leaf, subleaf; a note holds the registers */
	LOG_HASH = 8,       /* not an event.  result = hash of the upper half, nr = enum log_hash_when; with
	                     * --hash-every a note RDB_NOTE_PAGES */
	LOG_CHECKPOINT = 9, /* not an event.  nr = checkpoint number; image ckpt-%06u.img holds `event`;
	                     result = nanoseconds that the program stood still for it */
	LOG_FILE = 10,      /* not an event.  One chunk: text "key=..\npath=..\n" of a stored file */
	LOG_END = 11,       /* not an event.  The recording ends here; see enum log_end in nr */
	/* event.  The thread goes on: it starts, or was stopped by PREEMPT, after which there is none if no other thread
	 * could run */
	LOG_RESUME = 12,
	LOG_PREEMPT = 13, /* event.  The thread was stopped in a computation; a note holds the place (mark.h) */
	LOG_ASKED = 14, /* not an event.  The thread asks a question (nr) that another record will answer later.  A note
			 * RDB_NOTE_SENT has what it hands out; the later record then has no such note */
	LOG_ENDS =
		15, /* not an event.  The pages from args[0] to args[1] lie behind the end of their mapped file: SIGBUS
		     * (space/ends.h) */
};

enum log_hash_when {
	LOG_HASH_AT_EVENT = 0, /* right after `event` was answered */
	LOG_HASH_AT_END = 1,   /* where the recording ends, before the crossing that is not in it */
};

enum log_end {
	LOG_END_EXIT = 1,        /* result = exit code; the last event asked for was exit_group */
	LOG_END_SIGNAL = 2,      /* result = signal number */
	LOG_END_UNSUPPORTED = 3, /* rdb could not go on; chunk: text */
	LOG_END_DISK = 4,        /* the log could not be extended; the program went on unrecorded */
	LOG_END_EXEC = 5,        /* replaced by execve */
	LOG_END_BUDGET = 6,      /* --log-budget is spent; the program went on unrecorded */
};

#define LOG_TOOK_US 0x80000000u

struct log_record {
	uint32_t size;       /* bytes of the whole record, multiple of 8; written last */
	uint32_t check;      /* crc32c of bytes [16, size), data of chunks taken by crc32c_data() (crc32c.h) */
	uint32_t repeat;     /* this event happened 1 + repeat times in a row with the same answer */
	uint32_t not_repeat; /* ~repeat: both are stored as one 8-byte word */
	uint16_t kind;       /* enum log_kind */
	uint16_t nargs;
	uint32_t nr;
	uint64_t event; /* number of the (first) event; for non-events the event they follow */
	int64_t result;
	/* CLOCK_REALTIME when it ended; with shared memory: before stores of other processes were looked for */
	uint64_t at_ns;
	uint32_t thread; /* thread of the event, from 1; END: thread that ran last, 0: not known */
	uint32_t took;   /* of a call of MPI or verbs: its duration, in microseconds if LOG_TOOK_US is set, else in
			  * nanoseconds; 0: not known */
			 /* uint64_t args[nargs]; struct log_chunk chunks... */
};

/* The record equals its model except for the event number, the times and the words in the mask, if there is one: bit 0
 * is the result, bit i is the i-th word after struct log_record.  A short record stands for one event, without
 * repetitions. */
struct log_short {
	uint32_t size;  /* bytes, multiple of 8, with LOG_SHORT set; written last */
	uint32_t check; /* crc32c of bytes [8, size) */
	uint32_t back;  /* distance back to the start of the model, in 8-byte words */
	uint32_t event; /* added to the model's event number; at_ns likewise */
	uint32_t at_ns;
	uint32_t took; /* as in struct log_record */
		       /* uint64_t mask, then the words; both may be missing */
};

/* The last `period` short records, all without a mask, happened again in the same order, for `count` more events.  Used
 * for polling: the times of the records are those of the last turn. */
struct log_cycle {
	uint32_t size;      /* sizeof(struct log_cycle) | LOG_SHORT | LOG_CYCLE; written last */
	uint32_t check;     /* crc32c of bytes [16, 24) */
	uint32_t count;     /* grows */
	uint32_t not_count; /* ~count */
	uint32_t period;
	uint32_t zero;
};

enum {
	LOG_SHORT = 1,
	LOG_CYCLE = 2,
	LOG_PERIOD_MAX = 8,
	LOG_MODEL_MAX = sizeof(struct log_record) + 63 * 8,
	LOG_SHORT_MAX = sizeof(struct log_short) + 65 * 8 + LOG_SHORT,
};

struct log_chunk {
	uint64_t addr; /* upper address the bytes go to; 0: a note, not applied in replay */
	uint32_t len;  /* bytes that follow, before padding to 8 */
	uint32_t note; /* enum rdb_note if addr == 0 */
};

#define LOG_IS_EVENT(kind) (((kind) >= LOG_START && (kind) <= LOG_TSC) || (kind) == LOG_RESUME || (kind) == LOG_PREEMPT)
