/* What a plug-in (the real-MPI side, the verbs side) and the boundary offer each other.
 *
 * A plug-in is a shared object loaded with dlopen into the lower half the first time the program
 * makes a call of its namespace WHILE RECORDING (or with --record=off).  It is never loaded in
 * replay: there the log alone answers.  So everything the call did to upper memory must be said
 * with host->out(), and everything else that it told the program must be in the return value.
 */
#ifndef RDB_HOST_H
#define RDB_HOST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "crossing/gate.h"

#define RDB_HOST_VERSION 17

/* Kinds of notes: annotations in the log that replay does not apply (log_format.h, CHUNK_NOTE). */
enum rdb_note {
	RDB_NOTE_FILE = 1,   /* text: key of a file in the job's store (file mappings) */
	RDB_NOTE_RECV = 2,   /* struct rdb_note_recv: a receive that this event completed */
	RDB_NOTE_SEND = 3,   /* struct rdb_note_recv (peer = destination): a send this event posted */
	RDB_NOTE_TEXT = 4,   /* free text for people, e.g. a communicator's construction */
	RDB_NOTE_PAGES = 5,  /* of a LOG_HASH: page_hashes.h */
	RDB_NOTE_THREAD = 6, /* uint32_t: number of the thread that this event made */
	RDB_NOTE_MARK = 7,   /* struct mark: where a computation was stopped */
	/* a part of shared memory: uint64_t start, end; of a chunk: its bytes were found there */
	RDB_NOTE_SHARED = 8,
	RDB_NOTE_AT = 9,          /* uint64_t: where the next note's bytes go, once it is mapped */
	RDB_NOTE_BYTES = 10,      /* bytes, see RDB_NOTE_AT */
	RDB_NOTE_VERBS = 11,      /* struct verbs_note_post (verbs/protocol.h): a work request that this event took */
	RDB_NOTE_ARRIVAL = 12,    /* struct verbs_note_arrival: whose request put bytes into memory */
	RDB_NOTE_DEVICE = 13,     /* of a chunk: its bytes were found there; a device may have written them (looks.h) */
	RDB_NOTE_DONE = 16,       /* uint32_t: virtual request id of a nonblocking collective that is complete */
	RDB_NOTE_STARTED = 15,    /* uint32_t: virtual request id of a persistent receive that is active now */
	RDB_NOTE_OPENED = 14,     /* struct rdb_note_opened: a file that was opened for writing */
	RDB_NOTE_FREED = 17,      /* uint32_t: virtual id of the window, communicator or file that is no more */
	RDB_NOTE_COMPLETED = 20,  /* struct verbs_note_completed: what a completion queue got */
	RDB_NOTE_TAKEN = 21,      /* struct verbs_note_taken: a peer's message that was carried out */
	RDB_NOTE_SOCKET = 22,     /* struct rdb_note_socket: who is at the ends of a socket */
	RDB_NOTE_PAYLOAD = 24,    /* struct rdb_note_payload: bytes that the log does not hold (order.h) */
	RDB_NOTE_ASYNC = 23,      /* struct verbs_note_async: an asynchronous event that can be asked for */
	RDB_NOTE_CANCELLED = 25,  /* struct rdb_note_cancelled: a receive that was, or is to be, cancelled */
	RDB_NOTE_MPI_FILE = 26,   /* struct rdb_note_mpi_file: a file of MPI that was opened, closed or deleted */
	RDB_NOTE_FILE_TURN = 27,  /* struct rdb_note_file_turn: a shared file pointer was used */
	RDB_NOTE_SHARED_OF = 28,  /* struct rdb_note_shared_of: which memory was mapped shared */
	RDB_NOTE_ASKED = 29,      /* uint64_t, as at_ns of a record: when a call was asked for (shared_memory.h) */
	RDB_NOTE_PIPE = 31,       /* struct rdb_note_pipe: a pipe that was opened by a name */
	RDB_NOTE_WAS = 30,        /* struct rdb_note_was: what had a name before the call (answer/kept_files.h) */
	RDB_NOTE_ATTRIBUTES = 32, /* struct rdb_note_attributes: of a file, before the call (answer/attributes.h) */
	RDB_NOTE_FOLLOWS = 33, /* struct rdb_note_follows: a private mapping that shows what is written to its file */
	RDB_NOTE_FORCED = 34,  /* of a chunk: stored there whatever the page's protection is */
	RDB_NOTE_SENT = 35,    /* struct rdb_note_sent, several: bytes that the program hands out (space/sent.h) */
	RDB_NOTE_BACK = 36,    /* two uint64_t: of a mapped file, which did not reach there (space/ends.h) */
	RDB_NOTE_MAPPED = 37,  /* what a call that no table knows has done to the map (answer/unknown_maps.h) */
	RDB_NOTE_MADE = 38,    /* uint32_t, several: descriptors that such a call has made */
	RDB_NOTE_COUNTED = 39, /* struct mark_counted: where a computation was stopped */
};

/* Two words: of the events of a loop mostly one of them differs (log_short.h). */
struct rdb_note_sent {
	uint64_t at; /* where the bytes lie; above RDB_SENT_PHASE: which of them are checked, 0: all */
	uint32_t len;
	uint32_t check; /* crc32c_data() of them, or a CRC-32C of a sample */
};

#define RDB_SENT_PHASE 48
#define RDB_SENT_ADDRESS ((1ull << RDB_SENT_PHASE) - 1)
/* In `at`: blocks of `len` bytes that lie equally far apart, all of them checked.  The next struct rdb_note_sent has the
 * distance from block to block (at, signed) and how many there are (len). */
#define RDB_SENT_BLOCKS (1ull << 63)

/* Blocks of a datatype of MPI. */
struct rdb_blocks {
	int64_t offset, stride; /* of the first one, and from one to the next */
	uint64_t len, count;
};

enum { RDB_ADDRESS_BYTES = 112 };

struct rdb_note_socket { /* of connect(2), accept(2), listen(2) */
	int32_t pid;     /* who has connected */
	uint16_t local_len, peer_len;
	uint8_t local[RDB_ADDRESS_BYTES], peer[RDB_ADDRESS_BYTES]; /* struct sockaddr */
};

struct rdb_note_shared_of {
	uint64_t start, end;
	uint64_t dev, ino, offset; /* equal in all that share it while they do */
	uint64_t kind;             /* enum shared_kind */
};

struct rdb_note_follows {
	struct rdb_note_shared_of of;
	/* and, after it, uint64_t start, end: pages that it has for itself, in order */
};

struct rdb_note_opened {
	/* and, after it, where it is: text; none of a recording of an older rdb */
	uint64_t size; /* when it was open: what a restart must find again below it */
};

struct rdb_note_pipe {
	uint64_t dev, ino;
	uint64_t named; /* 0: an end of pipe(2), by its number (/dev/fd) */
			/* text: the name, or what the program calls it */
};

/* What had a name right before a call that changes that. */
enum rdb_was {
	RDB_WAS_ABSENT,
	RDB_WAS_EMPTY,
	RDB_WAS_KEPT, /* what was in the file is beside the log: kept-NUMBER */
	RDB_WAS_SAME, /* a file as this process has written it, or as it has it open */
	RDB_WAS_LOST, /* it could not be kept; NUMBER is 1: because of --kept-budget */
	RDB_WAS_DIRECTORY,
	RDB_WAS_LINK,
	RDB_WAS_OTHER,
	RDB_WAS_FIFO
};

struct rdb_note_was {
	uint32_t was, number, mode;
	uint32_t unused;
	uint64_t size;
	uint64_t changed_ns; /* not 0: it is the file itself, and is to be as it was then (st_mtim) */
	/* texts with a zero each: the name, a second one (where that came from), where the link led */
};

enum rdb_xattr {
	RDB_XATTR_UNSAID, /* the call changes none */
	RDB_XATTR_NONE,   /* it was not there */
	RDB_XATTR_HAD,
	RDB_XATTR_LOST
};

struct rdb_note_attributes {
	/* and, after it: the path, the name of the extended attribute, with a zero, and its value */
	uint32_t mode, uid, gid, links;
	uint64_t dev, ino, accessed_ns, modified_ns;
	uint32_t path_bytes; /* with its zero */
	uint16_t made;       /* not 0: by this call, and so as it is after it */
	uint16_t xattr;      /* enum rdb_xattr: what that one was which the call changes */
};

/* What a file of MPI held right before the call. */
enum rdb_file_was {
	RDB_FILE_UNSAID, /* another rank says it */
	RDB_FILE_ABSENT,
	RDB_FILE_KEPT, /* a copy is beside the log: mpi-file-NUMBER */
	RDB_FILE_SAME, /* as this job has left it */
	RDB_FILE_LOST  /* no copy could be made */
};

struct rdb_note_mpi_file {
	uint32_t id; /* virtual, of the file; 0: none (deleted) */
	uint32_t was;
	uint32_t number, writes; /* writes: it is open for that */
	uint64_t size;
	char path[]; /* absolute; of one that is closed: none */
};

struct rdb_note_file_turn {
	uint64_t at_ns;   /* in the order in which ranks of a host had it */
	int64_t position; /* before; -1: not known */
};

struct rdb_note_payload {
	uint64_t addr;   /* upper address */
	uint64_t offset; /* of the bytes in the rank's payload, which is there when the recording has been expanded */
	uint32_t len;
	uint32_t check; /* crc32c_data() of them */
};

struct rdb_note_recv {
	int32_t peer; /* rank in MPI_COMM_WORLD (-1: unknown; -2 minus a rank of the job: of another MPI_COMM_WORLD) */
	int32_t tag;
	uint32_t comm;    /* virtual communicator id, the same number in every rank's stub table
	                         only for predefined ones */
	uint32_t request; /* virtual request id, 0 for blocking calls */
	uint64_t bytes;
	uint64_t order; /* of a receive: the how-manieth that was posted, from 1; of a send: 0 */
	uint64_t from;  /* of a send: where the bytes lie, one after the other; 0: they have gaps */
};

struct rdb_note_cancelled {
	uint64_t order;   /* the how-manieth receive that was posted, from 1; 0: MPI_Cancel has been called */
	uint64_t request; /* virtual request id */
};

struct rdb_span {
	void *addr;       /* upper address */
	size_t len;       /* bytes */
	const void *from; /* where they are now, in lower memory */
};

enum rdb_fate {
	RDB_FATE_NONE, /* the recording ends before it is complete */
	RDB_FATE_RECEIVED,
	RDB_FATE_CANCELLED,
};

/* What a rank waits for in a whole-job replay. */
enum rdb_wait {
	RDB_WAIT_NOTHING,
	RDB_WAIT_MESSAGE,  /* of a peer */
	RDB_WAIT_RECEIVER, /* a peer that takes a message */
	RDB_WAIT_TOGETHER, /* the other ranks of a collective; no `looked` */
};

struct rdb_host {
	uint32_t version;
	int rank;
	int world_first; /* the rank that is 0 in its MPI_COMM_WORLD */
	int appnum;
	bool worlds; /* a restart: the launcher's MPI_COMM_WORLD holds several of the job's */
	/* The words of rdb-exec's command line that processes which MPI_Comm_spawn starts have, too. */
	const char *const *(*spawn_options)(unsigned *count);
	/* These bytes of upper memory were (over)written by the present event.  Call it after they
	 * have their final content; it may be called many times; the bytes are copied into the log
	 * when the event ends. */
	void (*out)(void *upper, size_t len);
	/* These bytes of upper memory leave the program with the present event: said before anything is written to upper
	 * memory, and before other threads may run.  They need not be there. */
	void (*sent)(const void *upper, size_t len);
	/* The same of `count` elements, `extent` apart, each of which has these blocks. */
	void (*sent_blocks)(const void *upper, int64_t count, int64_t extent, const struct rdb_blocks *blocks,
			    unsigned n);
	/* The same as out() of bytes that a whole-job replay makes again (`expand` below): where only the order is recorded, their
	 * hash is logged in their place. */
	void (*payload)(void *upper, size_t len);
	void (*note)(enum rdb_note what, const void *data, size_t len);
	/* Calls a function of the upper half (user MPI_Op, callback) with up to 6 integer/pointer
	 * arguments; nested events may happen inside.  `spans` name the scratch memory that it is
	 * given, and what to fill it with: logged, so that replay can make the same call. */
	uint64_t (*upcall)(void *upper_fn, const uint64_t *args, unsigned nargs, const struct rdb_span *spans,
			   unsigned nspans);
	/* Upper-half scratch memory for upcall arguments: `slot` 0..7, at least `len` bytes, 64-byte
	 * aligned.  Nobody else's until the event ends or the slot is asked for again. */
	void *(*scratch)(unsigned slot, size_t len);
	/* Ends the recording with a clear message on stderr ("rdb: ...") and the process with exit
	 * code 125.  printf-like.  Does not return. */
	void (*fatal)(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
	/* The program is about to die on purpose inside the plug-in (MPI_Abort): writes the END
	 * record with that exit code and closes the log.  Returns. */
	void (*ending)(int exit_code);
	/* Plug-ins run in one thread at a time: they hold the right to run as they are called.
	 * hold(false) gives it up, before a call that may wait for other processes; then other threads
	 * of the program run, and come into the plug-in.  hold(true) takes it back: before
	 * anything of this struct is used again, or the plug-in's own data, also in a callback of
	 * the library from inside such a call.  Returns what was before, to be put back. */
	bool (*hold)(bool want);
	/* hold(false) lets other threads of a recorded program run: upper memory must not change
	 * before it is held again, because the replay writes it when the event ends. */
	bool (*shared)(void);
	/* From any thread: something has come that `progress` has to carry out.  It is called soon. */
	void (*arrived)(void);
	/* Registered memory: a device writes to it (begin) without being asked by a call of the program; `remote`:
	 * at any time, else only what the program has asked it for (device_memory.h). */
	void (*device_memory)(void *upper, size_t len, bool remote, bool begin);
	/* Of a call that completes requests: what the device was asked to put there has come (length 0: nowhere; SIZE_MAX: it
	 * is not known where).  A call whose result is not 0 and that says nothing may have told of all memory. */
	void (*device_told)(void *upper, size_t len);
	/* A fork of this process takes registered memory away from the device (ibv_fork_init(3)): none of ours while there is any. */
	void (*forks_break_dma)(void);
	/* Moves a descriptor out of the program's range; returns the new one or -errno. */
	int (*keep_descriptor)(int fd);
	/* A file beside the log is whole, and stays as it is: space/side_files.h. */
	void (*whole)(const char *path);
	void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* memcpy, to or from upper memory that may not be there: how many bytes were copied, from the first on. */
	size_t (*copy)(void *to, const void *from, size_t len);
	/* Does a little (some microseconds) of what the recording will have to do for long messages.  False: there is
	 * nothing.  For who waits: it is asked again as long as what is waited for has not come. */
	bool (*idle)(void);
	/* Checkpoints that all ranks take together; NULL: there are none.  The plug-in keeps the counts there. */
	struct board *board; /* restart/board.h */
	/* The program stands before the present call, and a checkpoint may be taken here if one is wanted; `complete`
	 * (or NULL) says that what the call waits for is there.  True: the rank has been held. */
	bool (*at_rest)(bool (*complete)(void *), void *arg);
	/* The calling thread of the program, by the number that it keeps in a restart. */
	uint32_t (*thread)(void);
	/* Going live again (enum rdb_restart): the branch's directory of this rank, else NULL. */
	const char *branch;
	/* On the way to a cut: the program was given a descriptor by the library (number), or has none any more
	 * (number and fd -1).  At the cut: this is it (fd; a duplicate is made).  `key`: which one. */
	void (*descriptor)(uint32_t key, int number, int fd);
	bool order; /* --record=order: what `expand` could not make again is refused */
	/* While the payloads are made again: what came of the receive that was the `order`-th to be posted, later on
	 * in the log. */
	enum rdb_fate (*fate)(uint64_t order, struct rdb_note_recv *out);
	/* Is there a receive, posted after the `order`-th, of that channel?  Known once fate() has said RDB_FATE_NONE. */
	bool (*comes)(uint64_t order, int peer, int tag, uint32_t comm);
	/* Is in these bytes of upper memory what the log says that the present call wrote there? */
	bool (*agrees)(const void *upper, size_t len);
	/* The rank waits for a peer (a rank in MPI_COMM_WORLD) from now on, or for nothing any more. */
	void (*waits)(enum rdb_wait what, int peer, int tag);
	void (*looked)(void);  /* in vain: what it waits for is not there */
	const char *hca;       /* verbs: which provider: soft, real, auto; NULL: not said */
	const char *hca_key;   /* file with the secret of the software HCAs of one job, or NULL */
	const char *dir;       /* of this process' recording */
	const uint64_t *event; /* the newest one */
	bool (*recording)(void);
	const char *from; /* what a restart goes on from, and its checkpoint */
	unsigned checkpoint;
	bool in_place; /* a restart that goes on with the program's own files */
};

/* A replay that is to go on live (restart/live.h): what a plug-in is told of each recorded call, with memory as it was. */
enum rdb_restart {
	RDB_RESTART_NOTED, /* before ASKED: a text that the log has of this call (args: address, length) */
	RDB_RESTART_ASKED, /* before the log's answer; *result: that; 1 + what came of making the call again, if it was */
	/* the *result-th message that this call sends was under way at the cut: it is to leave again */
	RDB_RESTART_SEND,
	RDB_RESTART_ANSWERED, /* after it; *result is the log's */
	RDB_RESTART_RENAME,   /* args: the value that a call made again wrote, and what the log has */
	RDB_RESTART_BEGIN,    /* args: where what a branch began with is, a folder */
	RDB_RESTART_CUT,      /* all that was pending is to be there when this returns */
	RDB_RESTART_LIVE,     /* everything else is there, too: the program goes on; it may wait for other ranks */
};

/* A replay of all ranks together that makes the payloads again (replay/expand.h): what a plug-in is told of each
 * recorded call. */
enum rdb_expand {
	RDB_EXPAND_ASKED,      /* memory is as it was before the call */
	RDB_EXPAND_RENAMED,    /* args: the handle that a call made again wrote, and what the log has */
	RDB_EXPAND_ANSWERED,   /* the log's answer is in memory, but for the payloads */
	RDB_EXPAND_UNANSWERED, /* the log has no answer: others may need what this call gives them */
	RDB_EXPAND_END,        /* of the recording */
};

struct rdb_recorded { /* what the log has of the call */
	int64_t result;
	const struct rdb_note_recv *received; /* receives that it completed */
	const uint32_t *done;                 /* requests of nonblocking collectives that it completed */
	unsigned nreceived, ndone;
	bool made; /* to be set: objects were made; their handles are in memory */
};

/* Checkpoints without a log (restart/coordinated.h). */
struct rdb_together {
	/* May the rank stay where it is?  waits: in a call that waits for others. */
	bool (*may_hold)(bool waits);
	/* Takes what is under way out of the network, without blocking; how many operations are still to complete. */
	uint64_t (*settle)(void);
	const char *(*refuses)(void); /* what is there that could not be brought back, or NULL */
	int (*save)(void **bytes, size_t *len);
	/* In a process that has restored the image: as it was.  NULL, or why not. */
	const char *(*load)(const void *bytes, size_t len);
	bool (*shares)(uint64_t start, uint64_t end); /* it keeps this shared memory itself */
};

struct rdb_plugin {
	uint32_t version; /* RDB_HOST_VERSION */
	const char *name; /* "openmpi-4.1.4" */
	/* 0 or -errno. */
	int (*init)(const struct rdb_host *host);
	/* One hypercall; nargs values, upper pointers among them.  Runs on the lower stack with the
	 * lower thread pointer: any library may be used. */
	int64_t (*call)(uint32_t fn, uint32_t nargs, const uint64_t *args);
	/* May be NULL.  After host->arrived(), without blocking: writes to upper memory what has come, and says so
	 * with host->out().  Called at an event, or while no upper thread runs (arrivals.h). */
	int (*progress)(void);
	/* May be NULL.  False: progress() has nothing to do, ever, by what was chosen at init(). */
	bool (*brings)(void);
	/* May be NULL.  Carries out a call with the result 0 of which there is nothing else to log, such as a poll that
	 * finds nothing.  False: call() is asked for it at once, with what was found here. */
	bool (*quick)(uint32_t fn, const uint64_t *args);
	uint32_t quick_index; /* of the one call that may be */
	/* May be NULL.  In a forked child, with the parent's memory and none of its threads. */
	void (*in_child)(void);
	/* May be NULL: programs that called this library cannot be restarted.  NULL, or why it cannot be. */
	const struct rdb_together *together; /* may be NULL: the same for checkpoints without a log */
	const char *(*restart)(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			       int64_t *result);
	/* May be NULL: its calls are answered by the log alone.  NULL, or why the payloads cannot be made again. */
	const char *(*expand)(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			      struct rdb_recorded *recorded);
};

/* The one symbol a plug-in exports: const struct rdb_plugin rdb_plugin; */

#endif
