/* Between the files of a restart (restart.c): what the program had pending in MPI on its way to the cut. */
#ifndef RDB_MPI_RESTART_H
#define RDB_MPI_RESTART_H
#include <stdio.h>
#include "requests.h"

#define PENDING_HANDLES 4

enum kind {
	UNKNOWN,
	QUIET,
	MAKES,
	JOINS,       /* the same, with processes that are there already */
	MAKES_LATER, /* the same, when it is known what the log says */
	WINDOWS,     /* epochs */
	SENDS,
	EXCHANGES,
	POSTS_SEND,
	POSTS_RECEIVE,
	POSTS_EXCHANGE,   /* its message leaves at once; what is pending is the receive */
	POSTS_MATCHED,    /* a receive of a message that was matched before */
	POSTS_COLLECTIVE, /* made again with the same arguments */
	POSTS_DONE,       /* what it does is complete at any cut: all that is left is to be waited for */
	POSTS_OWN,        /* a generalized request, made at the cut */
	COMPLETES_OWN,
	POSTS_COPY, /* of a communicator: made again on the way, like what is made at once */
	PERSISTENT,
	PARTITIONED, /* made at the cut, and started with the partitions that were ready */
	READIES,
	ARRIVES,
	STARTS,
	CANCELS,
	LOOKS,
	FREES,
	ONE,
	MANY,
	MATCHES,
	TAKES,
	OPENS, /* files */
	CLOSES,
	PORTS, /* made at the cut */
	LEAVES /* made when the program goes on: others may need the rank until then */
};

/* A request that the program has posted, or started, and not yet seen complete; a message that it has matched. */
struct pending {
	struct pending *next;
	enum kind kind;
	const char *name;
	uint32_t id;
	bool cancelled, looked;
	bool complete; /* of POSTS_OWN: the program has said so */
	bool large;    /* its datatype is one of more elements than an int can count */
	bool lost;     /* what it uses was freed by the program before the branch began: nobody has it any more */
	struct vtype *type;
	struct vcomm *comm;
	void *buf;
	int count, source, tag;
	unsigned index, nargs; /* of POSTS_COLLECTIVE */
	uint64_t args[TRANSLATION_ARGUMENTS];
	bool file; /* POSTS_DONE, of a file: so many bytes, and what it has read */
	int64_t bytes;
	struct inflight *flight;
	bool started;                          /* of PARTITIONED: between its start and its completion, */
	uint32_t parts;                        /* of so many */
	uint8_t *settled;                      /* one for each: it is ready, or has come and is the program's */
	struct vobject *held[PENDING_HANDLES]; /* what its arguments name, even if the program has freed it */
};

/* What a function is to a restart, by its name. */
enum kind restart_kind(const char *name);
/* Says why the program cannot be brought back. */
const char *restart_refuse(const char *name, const char *what);
/* The call once more, for the real MPI below. */
int64_t restart_call(unsigned index, uint32_t nargs, const uint64_t *a);

/* The same, but where it writes is no memory of the program's. */
int64_t restart_silent_call(unsigned index, uint32_t nargs, const uint64_t *a);

/* generalized.c: under that id, with what MPI_Grequest_start was given.  0 or an MPI error. */
int generalized_again(uint32_t id, const uint64_t *args, bool complete);

/* What was made has another handle (the first) than it had: it gets that one. */
const char *restart_renamed(const uint64_t *handles);

/* The program has called MPI_Finalize by the cut: the real one follows when it goes on. */
extern bool restart_left;
int64_t real_Finalize(const uint64_t *a);
const char *restart_leave(void);

/* restart_windows.c */
struct open_window {
	struct open_window *next;
	uint32_t id;
	bool fenced, all_locked;
	/* of MPI_Win_allocate_shared: where all of it is mapped, and our own part */
	char *shared;
	size_t shared_bytes, offset;
	MPI_Comm comm;
};
extern struct open_window *restart_windows;
bool restart_window_load(FILE *file, const char **why);
const char *restart_window_asked(unsigned index, const uint64_t *a);
const char *restart_window_answered(unsigned index, uint32_t nargs, const uint64_t *a);
const char *restart_windows_cut(void);
/* windows_shared.c: what is mapped privately on the way, and the same in all ranks at the cut, is shared again. */
const char *restart_shared_cut(const struct open_window *one);

/* restart_files.c: a call of files that was successful in the recording, before and after; `result`: 1, and it was made
 * again; what it brings belongs to this request; at the cut. */
const char *restart_file_asked(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a,
			       int64_t *result);
const char *restart_file_answered(void);
void restart_file_posted(struct pending *one);
const char *restart_files_cut(const char *folder);
/* restart_files_order.c */
const char *file_steps_load(void);

/* restart_journal.c: what a branch begins with, for restarts of that.  A call that makes or frees something, before and
 * after it; a message that leaves again. */
void restart_journal_asked(unsigned index, uint32_t nargs, const uint64_t *a);
void restart_journal_answered(void);
void restart_journal_message(int dest, int tag, const struct vcomm *comm, const char *packed, int len);
const char *restart_journal_save(const char *folder);
const char *restart_journal_load(const char *folder);
/* The `which`-th message that was under way when the branch began. */
const char *restart_journal_send(unsigned which);

/* restart_messages.c: the `which`-th message that this call sent leaves again. */
const char *restart_message(unsigned index, uint32_t nargs, enum kind kind, const uint64_t *a, unsigned which);

struct pending *restart_follow(const char *name, enum kind kind, uint32_t id);
/* restart_requests.c: a call that the log answers, before and after; `failed`: so it did. */
const char *restart_asked(const char *name, enum kind kind, const uint64_t *a);
const char *restart_answered(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a,
			     bool failed);

/* restart_partitioned.c */
void restart_parts_made(struct pending *one);
void restart_parts_started(struct pending *one);
void restart_parts_complete(struct pending *one);
void restart_parts_freed(struct pending **at);
void restart_parts_ready(const char *name, const uint64_t *a);
void restart_parts_arrived(const uint64_t *a);
const char *restart_parts_again(struct pending *one);
void restart_parts_words(FILE *file, const struct pending *one);
struct pending **restart_find(uint32_t id);
/* restart.c: what one MPI has another may lack. */
const char *restart_failed_here(void);
/* restart_cut.c: made again as the call was, under the number that it had. */
bool restart_post_again(struct pending *one);

/* restart_cut.c: in the order in which they were posted. */
extern struct pending *restart_first, **restart_last;
void restart_settled(struct pending **at);
const char *restart_cut(void);
/* Nonblocking collectives, at the first call of the program that goes on: an operation of its own may run. */
extern bool restart_later;
void restart_go_on(void);

#endif
