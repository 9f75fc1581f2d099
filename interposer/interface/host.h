/* The interface between a plug-in (the real MPI, the providers of verbs) and the boundary.
 *
 * A plug-in is a shared object loaded with dlopen into the lower half when the program makes its first call of its
 * namespace WHILE RECORDING (or with --record=off).  It is never loaded in replay: there the log alone answers.  So a
 * plug-in must report everything that a call did to upper memory with host->out(), and return everything else that it
 * told the program as the return value.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "interface/gate.h"

#define RDB_HOST_VERSION 24

/* Kinds of notes: chunks of a record that replay does not apply (log_format.h, struct log_chunk with addr 0). */
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
	RDB_NOTE_AT = 9,         /* uint64_t: where the next note's bytes go, once it is mapped */
	RDB_NOTE_BYTES = 10,     /* bytes, see RDB_NOTE_AT */
	RDB_NOTE_VERBS = 11,     /* struct verbs_note_post (verbs/protocol.h): a work request that this event took */
	RDB_NOTE_ARRIVAL = 12,   /* struct verbs_note_arrival: the request that put bytes into memory */
	RDB_NOTE_DEVICE = 13,    /* of a chunk: its bytes were found there; a device may have written them */
	RDB_NOTE_DONE = 16,      /* uint32_t: virtual request id of a nonblocking collective that is complete */
	RDB_NOTE_STARTED = 15,   /* uint32_t: virtual request id of a persistent receive that is active now */
	RDB_NOTE_OPENED = 14,    /* struct rdb_note_opened: a file that was opened for writing */
	RDB_NOTE_FREED = 17,     /* uint32_t: virtual id of a window, communicator or file that was freed */
	RDB_NOTE_COMPLETED = 20, /* struct verbs_note_completed: what a completion queue got */
	RDB_NOTE_TAKEN = 21,     /* struct verbs_note_taken: a peer's message that was carried out */
	RDB_NOTE_SOCKET = 22,    /* struct rdb_note_socket: both ends of a socket */
	RDB_NOTE_PAYLOAD = 24,   /* struct rdb_note_payload: bytes that the log does not hold (order.h) */
	RDB_NOTE_ASYNC = 23,     /* struct verbs_note_async: an asynchronous event that can be asked for */
	RDB_NOTE_CANCELLED = 25, /* struct rdb_note_cancelled: a receive that was, or is to be, cancelled */
	RDB_NOTE_MPI_FILE = 26,  /* struct rdb_note_mpi_file: a file of MPI that was opened, closed or deleted */
	RDB_NOTE_FILE_TURN = 27, /* struct rdb_note_file_turn: a shared file pointer was used */
	RDB_NOTE_SHARED_OF = 28, /* struct rdb_note_shared_of: shared memory that was mapped */
	RDB_NOTE_ASKED = 29,     /* uint64_t, as at_ns of a record: when a call was asked for (shared_memory.h) */
	RDB_NOTE_PIPE = 31,      /* struct rdb_note_pipe: a pipe that was opened by a name */
	RDB_NOTE_WAS = 30, /* struct rdb_note_was: what a name referred to before the call (answer/kept_files.h) */
	RDB_NOTE_ATTRIBUTES = 32, /* struct rdb_note_attributes: of a file, before the call (answer/attributes.h) */
	RDB_NOTE_FOLLOWS = 33, /* struct rdb_note_follows: a private mapping that shows what is written to its file */
	RDB_NOTE_FORCED = 34,  /* of a chunk: stored even if the page is write-protected */
	RDB_NOTE_SENT = 35,    /* struct rdb_note_sent, several: bytes that the program hands out (space/sent.h) */
	RDB_NOTE_BACK = 36,    /* two uint64_t: pages of a mapped file that lay behind its end, and do no longer
			        * (space/ends.h) */
	RDB_NOTE_MAPPED = 37,  /* changes of the map by a call that is in no table (answer/unknown_maps.h) */
	RDB_NOTE_MADE = 38,    /* uint32_t, several: descriptors that such a call has made */
	RDB_NOTE_COUNTED = 39, /* struct mark_counted: where a computation was stopped */
	RDB_NOTE_PROBED = 40,  /* struct rdb_note_recv: a message that a probe has found */
	RDB_NOTE_EARLY = 41,   /* struct rdb_note_recv: a message whose bytes came before its receive was completed */
	RDB_NOTE_KEPT = 42,    /* bytes, in pieces: the message of the next RDB_NOTE_SEND (mpi/lower/core/lean.h) */
};

/* Two words: in a loop mostly only one of them changes (log_short.h). */
struct rdb_note_sent {
	uint64_t at; /* address of the bytes; bits from RDB_SENT_PHASE: which sample is checked, 0: all bytes */
	uint32_t len;
	uint32_t check; /* crc32c_data() of them, or a CRC-32C of a sample */
};

#define RDB_SENT_PHASE 48
#define RDB_SENT_ADDRESS ((1ull << RDB_SENT_PHASE) - 1)
/* Flag in `at`: blocks of `len` bytes at equal distances, all of them checked.  The next struct rdb_note_sent has the
 * distance from block to block (at, signed) and the number of blocks (len). */
#define RDB_SENT_BLOCKS (1ull << 63)

/* Blocks of a datatype of MPI. */
struct rdb_blocks {
	int64_t offset, stride; /* offset of the first block; distance from one to the next */
	uint64_t len, count;
};

enum { RDB_ADDRESS_BYTES = 112 };

struct rdb_note_socket { /* of connect(2), accept(2), listen(2) */
	int32_t pid;     /* process that connected */
	uint16_t local_len, peer_len;
	uint8_t local[RDB_ADDRESS_BYTES], peer[RDB_ADDRESS_BYTES]; /* struct sockaddr */
};

struct rdb_note_shared_of {
	uint64_t start, end;
	uint64_t dev, ino, offset; /* the same in all processes that share the memory, as long as they do */
	uint64_t kind;             /* enum shared_kind */
};

struct rdb_note_follows {
	struct rdb_note_shared_of of;
	/* followed by pairs of uint64_t start, end: its private pages, in order */
};

struct rdb_note_opened {
	/* followed by the path, as text; recordings of an older rdb have none */
	uint64_t size; /* size after the open: a restart must find the same file contents below it */
};

struct rdb_note_pipe {
	uint64_t dev, ino;
	uint64_t named; /* 0: an end of pipe(2), opened by its number (/dev/fd) */
			/* followed by text: the name, or how the program calls it */
};

/* What a name referred to right before a call that changes it. */
enum rdb_was {
	RDB_WAS_ABSENT,
	RDB_WAS_EMPTY,
	RDB_WAS_KEPT, /* the contents are kept beside the log: kept-NUMBER */
	RDB_WAS_SAME, /* a file whose contents this process has written, or has open */
	RDB_WAS_LOST, /* contents that could not be kept; NUMBER is 1 if because of --kept-budget */
	RDB_WAS_DIRECTORY,
	RDB_WAS_LINK,
	RDB_WAS_OTHER,
	RDB_WAS_FIFO
};

struct rdb_note_was {
	uint32_t was, number, mode;
	uint32_t unused;
	uint64_t size;
	uint64_t changed_ns; /* not 0: the file itself is kept and must have this st_mtim */
	/* followed by zero-terminated texts: the name, a second name (its origin), the target of the link */
};

enum rdb_xattr {
	RDB_XATTR_UNSAID, /* the call changes none */
	RDB_XATTR_NONE,   /* it was not there */
	RDB_XATTR_HAD,
	RDB_XATTR_LOST
};

struct rdb_note_attributes {
	/* followed by the path, the name of the extended attribute (both with their zero) and its value */
	uint32_t mode, uid, gid, links;
	uint64_t dev, ino, accessed_ns, modified_ns;
	uint32_t path_bytes; /* with its zero */
	uint16_t made;       /* not 0: this call made the file; the attributes are those after it */
	uint16_t xattr;      /* enum rdb_xattr: state of the attribute that the call changes */
};

/* What a file of MPI held right before the call. */
enum rdb_file_was {
	RDB_FILE_UNSAID, /* another rank says it */
	RDB_FILE_ABSENT,
	RDB_FILE_KEPT, /* a copy is beside the log: mpi-file-NUMBER */
	RDB_FILE_SAME, /* with the contents that this job has left in it */
	RDB_FILE_LOST  /* no copy could be made */
};

struct rdb_note_mpi_file {
	uint32_t id; /* virtual id of the file; 0: none (deleted) */
	uint32_t was;
	uint32_t number, writes; /* writes: it is open for writing */
	uint64_t size;
	char path[]; /* absolute; empty for a close */
};

struct rdb_note_file_turn {
	uint64_t at_ns;   /* orders the uses by the ranks of a host */
	int64_t position; /* before; -1: not known */
};

struct rdb_note_payload {
	uint64_t at;     /* upper address; bits from RDB_SENT_PHASE: as of struct rdb_note_sent */
	uint64_t offset; /* of the bytes in the rank's file of payloads, which an expanded recording has */
	uint32_t len;
	uint32_t check; /* as of struct rdb_note_sent */
};

struct rdb_note_recv {
	int32_t peer; /* rank in MPI_COMM_WORLD (-1: unknown; -2 minus a rank of the job: of another MPI_COMM_WORLD) */
	int32_t tag;
	uint32_t comm;    /* virtual communicator id, the same number in every rank's stub table
	                         only for predefined ones */
	uint32_t request; /* virtual request id, 0 for blocking calls */
	uint64_t bytes;
	uint64_t order; /* of a receive: its number in posting order, from 1; of a send: 0; of a message that a probe
	                 * has found: its own number if it is matched, else that of the next receive */
	/* Of a send: address of the bytes; 0: they are not contiguous.  Of a receive: 1 if the message was longer than
	 * the buffer. */
	uint64_t from;
};

struct rdb_note_cancelled {
	uint64_t order;   /* number of the receive in posting order, from 1; 0: MPI_Cancel has been called */
	uint64_t request; /* virtual request id */
};

struct rdb_span {
	void *addr;       /* upper address */
	size_t len;       /* bytes */
	const void *from; /* lower memory that holds the bytes */
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
	int world_first; /* job rank of rank 0 in its MPI_COMM_WORLD */
	int appnum;
	bool worlds; /* restart: the launcher's MPI_COMM_WORLD holds several of the job's */
	/* Words of rdb-exec's command line that processes started by MPI_Comm_spawn get, too. */
	const char *const *(*spawn_options)(unsigned *count);
	/* These bytes of upper memory were (over)written by the present event.  Call it after they
	 * have their final content; it may be called many times; the bytes are copied into the log
	 * when the event ends. */
	void (*out)(void *upper, size_t len);
	/* These bytes of upper memory leave the program with the present event.  Call it before anything is written to
	 * upper memory and before other threads may run.  The memory need not be mapped. */
	void (*sent)(const void *upper, size_t len);
	/* As sent(), for `count` elements, `extent` bytes apart, with these blocks in each. */
	void (*sent_blocks)(const void *upper, int64_t count, int64_t extent, const struct rdb_blocks *blocks,
			    unsigned n);
	/* As out(), for bytes that can be made again, with --record=order by a whole-job replay (`expand` below), with
	 * --record=lean from the sender's recording: their hash is logged instead. */
	void (*payload)(void *upper, size_t len);
	/* Processes of other ranks have the shared mapping that begins at `start`, too. */
	void (*others_share)(const void *start);
	void (*note)(enum rdb_note what, const void *data, size_t len);
	/* Calls a function of the upper half (user MPI_Op, callback) with up to 6 integer or pointer arguments; nested
	 * events may happen inside. `spans` are the scratch buffers passed to it and their contents: they are logged,
	 * so that replay can make the same call. */
	uint64_t (*upcall)(void *upper_fn, const uint64_t *args, unsigned nargs, const struct rdb_span *spans,
			   unsigned nspans);
	/* Upper-half scratch memory for upcall arguments: `slot` 0..7, at least `len` bytes, 64-byte aligned.  It is
	 * the caller's until the event ends or the slot is asked for again. */
	void *(*scratch)(unsigned slot, size_t len);
	/* Ends the recording with a clear message on stderr ("rdb: ...") and the process with exit
	 * code 125.  printf-like.  Does not return. */
	void (*fatal)(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
	/* The program is about to end inside the plug-in (MPI_Abort): writes the END record with that exit code and
	 * closes the log.  Returns. */
	void (*ending)(int exit_code);
	/* Only one thread at a time runs in plug-ins: a call starts with the right to run. hold(false) gives it up,
	 * before a call that may wait for other processes; other threads of the program may then run and enter the
	 * plug-in. hold(true) takes it back, before any use of this struct or of the plug-in's own data, also in a
	 * callback of the library.  Returns the former state, for restoring it. */
	bool (*hold)(bool want);
	/* True: hold(false) lets other threads of a recorded program run.  Then upper memory must not change until
	 * hold(true), because replay writes it when the event ends. */
	bool (*shared)(void);
	/* May be called from any thread: data has come for `progress`, which is called soon. */
	void (*arrived)(void);
	/* From now on (begin), or no longer, a device may write to this memory without a call of the program. remote:
	 * at any time; else only for requests of the program (device_memory.h). */
	void (*device_memory)(void *upper, size_t len, bool remote, bool begin);
	/* Called for a completion of requests: the device has filled these bytes (length 0: none; SIZE_MAX: unknown
	 * which). A call with a result other than 0 that never calls this may have completed requests for any
	 * memory. */
	void (*device_told)(void *upper, size_t len);
	/* A fork would take registered memory away from the device (ibv_fork_init(3)): rdb makes no fork of its own
	 * while there is any. */
	void (*forks_break_dma)(void);
	/* Moves a descriptor out of the program's range; returns the new one or -errno. */
	int (*keep_descriptor)(int fd);
	/* A file beside the log is complete and will not change (space/side_files.h). */
	void (*whole)(const char *path);
	/* The library is about to change that file, or to delete it: without a log its content is kept for a restart
	 * from the newest checkpoint.  True: there is none; call made() when there is. */
	bool (*changes)(const char *path, bool deletes);
	void (*made)(const char *path);
	/* A branch from a checkpoint without a log has a file of that path for itself at `place`, of 4096 bytes.  False:
	 * the path itself counts. */
	bool (*own_place)(const char *path, char *place);
	void (*own_add)(const char *path, const char *place);
	void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* memcpy, to or from upper memory that may not be mapped.  Returns how many bytes were copied, up to the first
	 * fault. */
	size_t (*copy)(void *to, const void *from, size_t len);
	/* For use while waiting: does a little (some microseconds) of the work that the recording needs for long
	 * messages.  False: there is none left now. */
	bool (*idle)(void);
	/* The board of coordinated checkpoints, where the plug-in keeps its counts; NULL: there are none. */
	struct board *board; /* restart/checkpoint/board.h */
	/* The program can be regarded as not having made the present call, so a checkpoint may be taken here if one is
	 * wanted. complete (may be NULL) tells whether what the call waits for is there.  True: the rank was held. */
	bool (*at_rest)(bool (*complete)(void *), void *arg);
	/* Number of the calling thread of the program; a restart keeps it. */
	uint32_t (*thread)(void);
	/* Restart (enum rdb_restart): directory of this rank in the branch, else NULL. */
	const char *branch;
	/* Before the cut: the library gave the program descriptor `number`, or took it away (fd -1).  At the cut: `fd`
	 * is that descriptor now (a duplicate is made). key: identifies it. */
	void (*descriptor)(uint32_t key, int number, int fd);
	/* --chaos: a number below `below` at random; else NULL. */
	uint64_t (*pick)(uint64_t below);
	bool order; /* --record=order: calls whose payloads `expand` could not make again are refused */
	bool lean;  /* --record=lean: large messages are made again from the sender's recording */
	/* While payloads are made again: what happens to the receive with number `order` later in the log. */
	enum rdb_fate (*fate)(uint64_t order, struct rdb_note_recv *out);
	/* Is there a receive on that channel posted after number `order`?  Valid after fate() has returned
	 * RDB_FATE_NONE. */
	bool (*comes)(uint64_t order, int peer, int tag, uint32_t comm);
	/* Do these bytes of upper memory equal what the log says that the present call wrote? */
	bool (*agrees)(const void *upper, size_t len);
	/* From now on the rank waits for a peer (a rank in MPI_COMM_WORLD), or for nothing any more. */
	void (*waits)(enum rdb_wait what, int peer, int tag);
	void (*looked)(void);  /* it has looked, and what it waits for is not there */
	const char *hca;       /* verbs provider: soft, real, auto; NULL: not given */
	const char *hca_key;   /* file with the secret of the software HCAs of one job, or NULL */
	const char *dir;       /* of this process' recording */
	const uint64_t *event; /* the newest one */
	bool (*recording)(void);
	bool (*passing)(void); /* the world answers, and nothing is or will be logged */
	const char *from;      /* recording that a restart continues, and its checkpoint */
	unsigned checkpoint;
	bool in_place; /* restart: continues with the program's own files */
};

/* A replay that becomes live (restart/live/live.h): what a plug-in is told of each recorded call.  Memory is as it was
 * then. */
enum rdb_restart {
	RDB_RESTART_NOTED, /* before ASKED: a note (text) of this call (args: address, length) */
	RDB_RESTART_ASKED, /* before the log's answer; *result: in: the log's result; out: 1 + the result of the call if
			    * it was made again */
	/* message number *result that this call sends was under way at the cut: send it again */
	RDB_RESTART_SEND,
	RDB_RESTART_ANSWERED, /* after it; *result is the log's */
	RDB_RESTART_RENAME,   /* args: the value that the repeated call wrote, and the log's value */
	RDB_RESTART_BEGIN,    /* args: path of the folder with what the branch started from */
	RDB_RESTART_CUT,      /* everything pending must be there when this returns */
	RDB_RESTART_LIVE,     /* everything else is there, too, and the program continues; may wait for other ranks */
};

/* A whole-job replay that makes the payloads again (replay/expand.h): what a plug-in is told of each recorded call. */
enum rdb_expand {
	RDB_EXPAND_ASKED,      /* memory is as it was before the call */
	RDB_EXPAND_RENAMED,    /* args: the handle that the repeated call wrote, and the log's handle */
	RDB_EXPAND_ANSWERED,   /* the log's answer is in memory, but for the payloads */
	RDB_EXPAND_UNANSWERED, /* the log has no answer: other ranks may need the effects of this call */
	RDB_EXPAND_END,        /* of the recording */
};

struct rdb_recorded { /* the log's answer to a call */
	int64_t result;
	const struct rdb_note_recv *received; /* receives that it completed */
	const uint32_t *done;                 /* requests of nonblocking collectives that it completed */
	unsigned nreceived, ndone;
	bool made; /* set by the plug-in: it made objects; their handles are in memory */
};

/* Checkpoints without a log (restart/checkpoint/coordinated.h). */
struct rdb_coordinated {
	/* May the rank be held here? waits: in a call that waits for others. */
	bool (*may_hold)(bool waits);
	/* Receives what is under way in the network, without blocking; returns how many operations are incomplete. */
	uint64_t (*settle)(void);
	const char *(*refuses)(void); /* reason why the state cannot be saved, or NULL */
	int (*save)(void **bytes, size_t *len);
	/* Restores the state in a process that has restored the image.  NULL, or why it cannot. */
	const char *(*load)(const void *bytes, size_t len);
	bool (*shares)(uint64_t start, uint64_t end); /* the plug-in saves this shared memory itself */
};

struct rdb_plugin {
	uint32_t version; /* RDB_HOST_VERSION */
	const char *name; /* "openmpi-4.1.4" */
	/* 0 or -errno. */
	int (*init)(const struct rdb_host *host);
	/* One hypercall with nargs values, some of them upper pointers.  Runs on the lower stack with the lower thread
	 * pointer, so it may use any library. */
	int64_t (*call)(uint32_t fn, uint32_t nargs, const uint64_t *args);
	/* May be NULL.  Called after host->arrived(), at an event or while no upper thread runs (arrivals.h).  Writes
	 * what has come to upper memory, without blocking, and reports it with host->out(). */
	int (*progress)(void);
	/* May be NULL.  False: by the choices made at init(), progress() never has anything to do. */
	bool (*brings)(void);
	/* May be NULL.  Carries out a call if its result is 0 and nothing else needs to be logged, such as a poll that
	 * finds nothing.  False: call() is called next and must use what was found here. */
	bool (*quick)(uint32_t fn, const uint64_t *args);
	uint32_t quick_index; /* of the only call that quick() takes */
	uint32_t clock_index; /* of the only call that just returns the time; 0: there is none */
	/* May be NULL.  The folder below which the files of its devices lie (dev/infiniband/...); NULL: they are the
	 * system's own. */
	const char *(*device_files)(void);
	/* May be NULL.  Called in a forked child, which has the parent's memory and none of its threads. */
	void (*in_child)(void);
	const struct rdb_coordinated *coordinated; /* may be NULL: then there are no checkpoints without a log */
	/* May be NULL: then programs that called this library cannot be restarted.  NULL, or why the restart is
	 * impossible. */
	const char *(*restart)(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			       int64_t *result);
	/* May be NULL: then the log alone answers its calls.  NULL, or why the payloads cannot be made again. */
	const char *(*expand)(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *args,
			      struct rdb_recorded *recorded);
};

/* The one symbol a plug-in exports: const struct rdb_plugin rdb_plugin; */
