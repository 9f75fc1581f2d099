/* What the program has open while a replay leads to a cut: descriptors, and what each stands for. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include "crossing/event.h"

enum { NUMBERS = 4096, OPENED = 1024, WATCHED = 1024, PIPE_ROOM = 1 << 20 };

enum open_kind {
	NONE,
	STANDARD,
	FILE_READ,
	FILE_WRITTEN,
	PIPE,
	EVENT,
	EPOLL,
	TIMER,
	SIGNALS,
	LIBRARY,
	SOCKET,
	FIFO,
	OTHER,
	MEMORY, /* memfd_create(2), of a checkpoint without a log; a recording's is FILE_WRITTEN */
	PROCESS /* pidfd_open(2) */
};

/* An open file description (open(2)): what dup(2) shares. */
struct opened {
	enum open_kind kind;
	unsigned refs;
	unsigned flags; /* O_* */
	uint64_t offset;
	uint64_t dev, ino; /* the file's numbers, as the program knows them; 0: they are not known */
	int copy;          /* FILE_WRITTEN: the branch's copy; STANDARD: which */
	uint32_t call;     /* OTHER, FILE_WRITTEN without a name: the call that made it */
	uint64_t count;    /* EVENT: its counter; TIMER: expirations that were read since it was set; PIPE: its size, if
			 * that was set; PROCESS: its id, as the program knows it */
	bool read_end;     /* PIPE */
	unsigned pipe;     /* PIPE: index in pipes; LIBRARY: the library's key; SOCKET: index in sockets */
	uint64_t mask;     /* SIGNALS; memfd_create(2): its seals; TIMER: expirations not read yet (without a log) */
	int clock;         /* TIMER */
	bool mapped;       /* a shared mapping of it was made */
	struct itimerspec timer;
	int made;          /* while descriptors are restored */
	unsigned shared;   /* not 0: several processes have it (tree.h); its number.  `made` is there already */
	unsigned again;    /* PIPE, STANDARD: not 0: opened by another's number (fd_paths.h); in a tree: its own
			    * number */
	uint64_t since_ns; /* TIMER: when it was set */
	bool set;          /* F_SETFL has changed its flags since it was shared */
	bool several;      /* FILE_WRITTEN: open twice, and another process has one of these */
	bool inherited;    /* FILE_WRITTEN: a child has had it, which may have written to it */
	char why[120];     /* not empty: it cannot be made again, if it is open at the cut */
	char path[4096];   /* empty: it has no name any more */
};

struct open_table {
	bool begun;
	struct opened opened[OPENED];
	struct {
		struct opened *file;
		bool cloexec;
	} number[NUMBERS];
	struct { /* epoll(7): watches an open file, by the number that this had, until it is closed */
		struct opened *set, *file; /* file NULL: not known */
		int fd;
		struct epoll_event event;
	} watched[WATCHED];
	unsigned nwatched;
	struct {
		uint8_t *bytes; /* bytes written and not yet read */
		size_t len;
	} pipes[OPENED];
	unsigned npipes, copies;
};
extern struct open_table open_table;

/* Functions of folders above that take part. */
extern const struct open_owners {
	/* Fills the table with what the program begins with.  False: nothing special, as for any program. */
	bool (*begin)(void);
	/* A descriptor of f is closed.  LAST: it was the last one. */
	void (*closed)(struct opened *f, bool last);
} * open_owners;

/* Begins the table: standard input, output and error, or what a branch began with. */
void open_table_begin(void);
/* The open file of a descriptor; NULL: not open, as far as is known. */
struct opened *open_at(uint64_t fd);
void open_drop(uint64_t fd);
void open_put(int64_t fd, struct opened *f, bool cloexec);
struct opened *open_make(enum open_kind kind, unsigned flags);
/* The path without symbolic links on the way; the last part need not exist, and is followed if FOLLOW.  False: a
 * directory on the way is missing; OUT is then the path as it is. */
bool open_whole_path(int dirfd, const char *path, char *out, bool follow);
/* The i-th signal that the call has read from a signalfd(2).  False: it has not. */
bool signalfd_got(const struct event *ev, unsigned i, struct signalfd_siginfo *one);
/* Puts bytes in a pipe, by either end, and gives it its size: 0 if that was not set. */
void pipe_fill(int end, const void *bytes, size_t len, size_t size);
