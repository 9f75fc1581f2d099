/* What a job without a log changes in files after a checkpoint, so that a restart from there can undo it
 * (rdb/live/files/undone.py).
 *
 * The directory undo-G of a rank is about the time after checkpoint G.  Each process writes to journal-PID there before
 * it makes a call that changes what names refer to or what files contain; before-PID-N has what a file contained.
 *
 * A call need not be noted if all names that it changes have been noted since the checkpoint, and nothing that it
 * destroys is older than the checkpoint.  So a file that is written again and again is noted once. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct event;
struct kept;       /* answer/kept_files.h */
struct attributes; /* answer/attributes.h */

#define UNDO_MAGIC 0x6f646e75u

enum undo_kind {
	UNDO_CALL,   /* a call is about to be made */
	UNDO_FAILED, /* the call of that `seq` has failed */
	UNDO_OWN,    /* a branch has a copy of its own: two texts, its path and its place */
	UNDO_UNSEEN, /* a child process has been made that is not followed */
};

/* A record of the journal; followed by notes, each struct undo_note and its bytes, padded to 8. */
struct undo_record {
	uint32_t magic, bytes; /* of the record with its notes */
	uint32_t check;        /* crc32c() of the record with its notes, with 0 in its place */
	uint16_t kind, nr;
	uint32_t seq, flags; /* flags: of open(2) or renameat2(2) */
	uint64_t at_ns;      /* CLOCK_REALTIME */
};

struct undo_note {
	uint32_t note, bytes; /* enum rdb_note */
};

/* The newest checkpoint of this process' rank; 0: there is none.  main() sets it. */
extern uint64_t (*undo_checkpoint)(void);

/* True: there is a checkpoint from which the job may be restarted, and no log.  A job that goes on with the files of
 * another one begins with that one's checkpoint, which is its own number 0. */
bool undo_follows(void);
/* Is nothing that the file at PLACE contains older than the checkpoint, or is that kept?  Has it been opened to append
 * to it? */
bool undo_is_new(const struct stat *st, const char *place);
bool undo_has_appended(const struct stat *st);
/* The name of a new file in which the content of a file is kept, and its number. */
void undo_kept_name(char *out, size_t size, uint32_t *number);
/* Writes the record of a call, if one is needed. */
void undo_before(const struct event *ev, struct kept *k, const struct attributes *a);
void undo_after(const struct event *ev, const struct kept *k);
/* A library has made that file. */
void undo_made(const char *path);
/* A branch's own file gets another name. */
void undo_own(const char *path, const char *place);
/* This process is a child that will not be followed. */
void undo_unseen(void);
