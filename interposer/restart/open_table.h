/* What the program has open while a replay leads to a cut: numbers, and what each stands for. */
#ifndef RDB_OPEN_TABLE_H
#define RDB_OPEN_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

enum { NUMBERS = 4096, OPENED = 512, WATCHED = 1024, PIPE_ROOM = 1 << 20 };

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
	OTHER
};

/* An open file description (open(2)): what dup(2) shares. */
struct opened {
	enum open_kind kind;
	unsigned refs;
	unsigned flags; /* O_* */
	uint64_t offset;
	int copy;       /* FILE_WRITTEN: the branch's copy; STANDARD: which */
	uint32_t call;  /* OTHER: the call that made it */
	uint64_t count; /* EVENT; TIMER: what was read of it since it was set */
	bool read_end;  /* PIPE */
	unsigned pipe;  /* PIPE: index in pipes; LIBRARY: what that calls it; SOCKET: in sockets */
	uint64_t mask;  /* SIGNALS */
	int clock;      /* TIMER */
	bool mapped;    /* shared */
	struct itimerspec timer;
	int made;        /* while descriptors are restored */
	unsigned shared; /* by several processes (tree.h): which; made is there already */
	unsigned
		again; /* PIPE, STANDARD: not 0, opened by the number of another (fd_paths.h); of a pipe whose ends others
			  * have: which */
	uint64_t since_ns; /* TIMER: when it was set */
	bool set;          /* then: F_SETFL has changed its flags since */
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
	struct {
		struct opened *set;
		int fd;
		struct epoll_event event;
	} watched[WATCHED];
	unsigned nwatched;
	struct {
		uint8_t *bytes; /* written and not yet read */
		size_t len;
	} pipes[OPENED];
	unsigned npipes, copies;
};
extern struct open_table open_table;

/* Standard input, output and error, or what a branch began with (was_open.c). */
void open_table_begin(void);
bool open_table_load(void);
/* NULL: that number is not open, as far as is known. */
struct opened *open_at(uint64_t fd);
void open_drop(uint64_t fd);
void open_put(int64_t fd, struct opened *f, bool cloexec);
struct opened *open_make(enum open_kind kind, unsigned flags);

#endif
