/* Declarations that the files of a restart (restart.c) share: operations pending in MPI on the way to the cut. */
#pragma once
#include <stdio.h>
#include "lower/core/requests.h"
#include "lower/windows/windows.h"

#define PENDING_HANDLES 4

enum kind {
	UNKNOWN,
	QUIET,
	MAKES,
	JOINS,       /* the same, with processes that exist already */
	MAKES_LATER, /* the same, after the log's answer */
	WINDOWS,     /* epochs */
	SENDS,
	EXCHANGES,
	POSTS_SEND,
	POSTS_RECEIVE,
	POSTS_EXCHANGE,   /* its send is done at once; the receive is pending */
	POSTS_MATCHED,    /* a receive of a matched message */
	POSTS_COLLECTIVE, /* made again with the same arguments */
	POSTS_DONE,       /* complete at any cut; only waiting for it is left */
	POSTS_OWN,        /* a generalized request, made at the cut */
	COMPLETES_OWN,
	POSTS_COPY, /* of a communicator: made again on the way, like MAKES */
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
	LEAVES /* MPI_Finalize; made when the program goes on, since other ranks may need this one until then */
};

/* A request that the program has posted or started and not completed, or a message that it has matched. */
struct pending {
	struct pending *next;
	enum kind kind;
	const char *name;
	uint32_t id;
	bool cancelled, looked;
	bool complete; /* of POSTS_OWN: MPI_Grequest_complete was called */
	bool large;    /* its datatype was made by large_arguments() */
	bool lost;     /* an object that it uses was freed before the branch began, and is not known any more */
	struct vtype *type;
	struct vcomm *comm;
	void *buf;
	int count, source, tag;
	unsigned index, nargs; /* of POSTS_COLLECTIVE */
	uint64_t args[TRANSLATION_ARGUMENTS];
	bool file;                             /* of POSTS_DONE: an operation on a file */
	int64_t bytes;                         /* its result */
	struct staged_read *flight;            /* data that it read, or NULL */
	bool started;                          /* of PARTITIONED: started and not complete */
	uint32_t parts;                        /* number of partitions */
	uint8_t *settled;                      /* by partition: ready, or delivered to the program */
	struct vobject *held[PENDING_HANDLES]; /* objects that its arguments name; the program may have freed them */
};

/* restart.c */
const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result);
/* Kind of a function, by its name. */
enum kind restart_kind(const char *name);
/* Makes a text of the reason why the program cannot be restarted, and returns it. */
const char *restart_refuse(const char *name, const char *what);
/* Makes the call again with the real MPI. */
int64_t restart_call(unsigned index, uint32_t nargs, const uint64_t *a);

/* The same without notes and reports of written memory. */
int64_t restart_silent_call(unsigned index, uint32_t nargs, const uint64_t *a);

/* An object that was made again has handle handles[0] and gets the recorded one, handles[1]. */
const char *restart_renamed(const uint64_t *handles);

/* The program called MPI_Finalize before the cut; the real one is called when the program goes on. */
extern bool restart_left;

/* restart_windows.c */
extern struct open_window *restart_windows;
bool restart_window_load(FILE *file, const char **why);
const char *restart_window_asked(unsigned index, const uint64_t *a);
const char *restart_window_answered(unsigned index, uint32_t nargs, const uint64_t *a);
const char *restart_windows_cut(void);
/* restart_files.c: a call on files, before the log's answer (*result is the recorded one; set to 1 if the call was made
 * again) and after it; the request that such a call has posted; at the cut. */
const char *restart_file_asked(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a,
			       int64_t *result);
const char *restart_file_answered(void);
void restart_file_posted(struct pending *one);
const char *restart_files_cut(const char *folder);
/* restart_files_order.c */
const char *file_steps_load(void);

/* restart_journal.c: state at the beginning of a branch, for restarts of it.  A call that makes or frees objects,
 * before and after it; a message that is sent again. */
void restart_journal_asked(unsigned index, uint32_t nargs, const uint64_t *a);
void restart_journal_answered(void);
void restart_journal_message(int dest, int tag, const struct vcomm *comm, const char *packed, int len);
const char *restart_journal_save(const char *folder);
const char *restart_journal_load(const char *folder);
/* Sends the `which`-th message again that was under way when the branch began. */
const char *restart_journal_send(unsigned which);

/* restart_messages.c: sends the `which`-th message of this call again. */
const char *restart_message(unsigned index, uint32_t nargs, enum kind kind, const uint64_t *a, unsigned which);

struct pending *restart_follow(const char *name, enum kind kind, uint32_t id);
/* restart_requests.c: a call that the log answers, before and after the answer. */
const char *restart_asked(const char *name, enum kind kind, const uint64_t *a);
const char *restart_answered(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a,
			     int64_t result);

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
/* restart_call.c: text of the reason that a call fails over this MPI. */
const char *restart_failed_here(void);
/* restart_cut.c: makes the call of a request again, under the request's id. */
bool restart_post_again(struct pending *one);

/* restart_cut.c: pending operations, in the order of posting. */
extern struct pending *restart_first, **restart_last;
/* Removes and frees one. */
void restart_settled(struct pending **at);
const char *restart_cut(void);
/* Nonblocking collectives wait for the program's first call after the restart, because an operation of the program may
 * run; restart_go_on() begins them. */
extern bool restart_later;
void restart_go_on(void);
