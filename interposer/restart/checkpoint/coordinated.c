#include "restart/checkpoint/coordinated.h"
#define RDB_BOARD_OWNER
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "restart/checkpoint/checkpoint_state.h"
#include "restart/checkpoint/board.h"
#include "restart/checkpoint/interval.h"
#include "restart/files/own_numbers.h"
#include "restart/sockets/kernel_sockets.h"
#include "restart/checkpoint/objections.h"
#include "restart/process/identity.h"
#include "restart/process/scheduling.h"
#include "restart/sockets/socket_ends.h"
#include "task/signals.h"
#include "task/halt.h"
#include "task/thread.h"

/* PATIENCE: the longest time that a rank is held for one checkpoint, in all; where there are other hosts it takes
 * longer to reach all ranks. */
enum {
	PATIENCE_S = 60,
	PATIENCE_HOSTS_S = 300,
	LAST_S = 60,
	UNSENT_S = 3,
	SPINS = 200,
	NAP_NS = 50000,
	LOOK_NAPS = 2000,
	SAID = 4
};

static struct {
	struct board *board;
	struct board_slot *slot;
	uint64_t done;              /* newest generation that this rank has dealt with */
	uint64_t cost_ns;           /* time that the newest checkpoint took */
	uint64_t held_for, held_ns; /* the generation that it was held for, and how long */
	struct thread *at_point;    /* at a safe point, where its callbacks have run */
} own;

static void set_state(enum board_state state)
{
	__atomic_store_n(&own.slot->state, state, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&own.slot->moves, 1, __ATOMIC_SEQ_CST);
}

/* When the process in a directory of /proc began (proc_pid_stat(5), field 22); 0: it has ended. */
static uint64_t started(int dir)
{
	char text[1024];
	const int fd = descriptor_open(dir, "stat", O_RDONLY, 0);
	const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *at = strrchr(text, ')'); /* the name in the second field may have spaces */
	for (unsigned field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static int process_open(int pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d", pid);
	return descriptor_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
}

/* The directory in /proc of a rank of this host; no later process with its id gets what is done by it.  -errno: the rank
 * has ended. */
static int rank_open(const struct board_slot *s)
{
	const int dir = process_open(s->pid);
	if (dir < 0 || started(dir) == s->started)
		return dir;
	close(dir);
	return -ESRCH;
}

void coordinated_join(void)
{
	int rc = board_open(lower.opt.board, lower.opt.board_ranks, &own.board);
	if (rc)
		rdb_fatal("%s: %s", lower.opt.board, strerror(-rc));
	own.slot = board_slot(own.board, (unsigned)lower.opt.board_rank);
	own.slot->pid = lower.pid;
	const int dir = descriptor_open(AT_FDCWD, "/proc/self", O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		rdb_fatal("/proc/self: %s", strerror(-dir));
	own.slot->started = started(dir);
	close(dir);
	own.slot->writer = 0;
	gethostname(own.slot->host, sizeof(own.slot->host) - 1);
	/* generations that are decided do not concern it */
	const uint64_t wanted = board_wanted(own.board);
	own.done = wanted && board_verdict(own.board, wanted) == BOARD_OPEN ? wanted - 1 : wanted;
	own.slot->mpi = own.slot->away = own.slot->silent = 0;
	own.cost_ns = 100000000;
}

/* Whoever waits for the checkpoint waits for the process that writes it, which may outlive the rank. */
static void note_writer(int pid)
{
	const int dir = pid ? process_open(pid) : -ESRCH;
	own.slot->writer_started = dir < 0 ? 0 : started(dir);
	own.slot->writer = (uint64_t)pid;
	if (dir >= 0)
		close(dir);
}

uint64_t coordinated_newest(void)
{
	static const struct board *seen; /* the board of the rank to which a child process belongs */
	static bool looked;
	if (own.slot)
		return __atomic_load_n(&own.slot->imaged, __ATOMIC_SEQ_CST);
	if (!lower.opt.board)
		return 0;
	if (!__atomic_exchange_n(&looked, true, __ATOMIC_SEQ_CST)) {
		const int fd = descriptor_open(AT_FDCWD, lower.opt.board, O_RDONLY | O_CLOEXEC, 0);
		void *p = fd < 0 ? MAP_FAILED
				 : mmap(NULL, board_bytes(lower.opt.board_ranks), PROT_READ, MAP_SHARED, fd, 0);
		if (fd >= 0)
			close(fd);
		if (p == MAP_FAILED)
			rdb_warn("%s: the board cannot be read: what process %d changes in files is not undone by a "
				 "restart",
				 lower.opt.board, lower.pid);
		else
			__atomic_store_n(&seen, (const struct board *)p, __ATOMIC_SEQ_CST);
	}
	const struct board *b = __atomic_load_n(&seen, __ATOMIC_SEQ_CST);
	if (!b)
		return 0;
	return __atomic_load_n(&board_slot((struct board *)b, (unsigned)lower.opt.board_rank)->imaged,
			       __ATOMIC_SEQ_CST);
}

void coordinated_begin(void)
{
	if (!own.board)
		coordinated_join();
	own_numbers_begin();
	set_state(BOARD_RUNS);
	interval_begin(own.cost_ns);
}

bool coordinated_due(void)
{
	return own.board && board_wanted(own.board) > own.done;
}

void coordinated_away(bool away)
{
	if (own.board)
		__atomic_add_fetch(&own.slot->away, away ? 1 : -1ul, __ATOMIC_SEQ_CST);
}

struct board *coordinated_board(void)
{
	return own.board;
}

static void heard(void)
{
	if (coordinated_due())
		lower.checkpoint_waits = true;
}

/* Signals the ranks of this host.  Those on other hosts notice it at their next call of MPI. */
static void signal_ranks(bool held)
{
	struct board *b = own.board;
	char host[64] = "";
	gethostname(host, sizeof(host) - 1);
	siginfo_t info = {.si_signo = SIGNALS_REMINDER, .si_code = SI_QUEUE};
	info.si_value.sival_ptr = (void *)SIGNALS_CHECKPOINT;
	for (unsigned rank = 0; rank < b->nranks; rank++) {
		const struct board_slot *s = board_slot(b, rank);
		if (s == own.slot || strcmp(s->host, host) ||
		    !(s->state == BOARD_RUNS || (held && s->state == BOARD_HELD)))
			continue;
		const int dir = rank_open(s);
		if (dir < 0)
			continue; /* look_for_all() reports it */
		raw_syscall(SYS_pidfd_send_signal, dir, SIGNALS_REMINDER, (long)&info, 0, 0, 0);
		close(dir);
	}
}

/* Ranks that could not be held when they were signalled, and have made no call since: the first that is held here
 * signals them again. */
static void signal_stragglers(void)
{
	for (unsigned rank = 0; rank < (unsigned)lower.opt.board_rank; rank++) {
		const struct board_slot *s = board_slot(own.board, rank);
		if (s->state == BOARD_HELD && !strcmp(s->host, own.slot->host))
			return;
	}
	signal_ranks(false);
}

void coordinated_want(void)
{
	struct board *b = own.board;
	if (!b)
		return;
	const uint64_t newest = board_wanted(b);
	if (newest && board_verdict(b, newest) == BOARD_OPEN) { /* a checkpoint is under way */
		heard();
		signal_ranks(false);
		return;
	}
	if (!board_want(b, newest + 1))
		return;
	heard();
	signal_ranks(true);
}

void coordinated_told(bool by_timer)
{
	if (by_timer) {
		coordinated_want();
		interval_begin(own.cost_ns);
	}
}

/* ---- safe points ---- */

/* Has another rank gone on from this safe point?  What it does next may need this rank there. */
static bool point_left(void)
{
	for (unsigned rank = 0; rank < own.board->nranks; rank++)
		if (__atomic_load_n(&board_slot(own.board, rank)->points, __ATOMIC_SEQ_CST) > own.slot->points)
			return true;
	return false;
}

static void leave_point(void)
{
	own.at_point = NULL;
	__atomic_store_n(&own.slot->calls, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&own.slot->points, 1, __ATOMIC_SEQ_CST);
}

bool coordinated_point(void)
{
	if (!own.board)
		return false;
	const bool due = coordinated_due() && !point_left();
	__atomic_store_n(&own.slot->calls, due, __ATOMIC_SEQ_CST);
	if (due)
		heard(); /* the signal may not have come yet */
	else
		leave_point();
	return due;
}

static void decide_no(uint64_t generation, const char *why);

void coordinated_called(bool whole)
{
	if (!own.board)
		return;
	__atomic_store_n(&own.slot->calls, 0, __ATOMIC_SEQ_CST);
	own.at_point = thread_self();
	if (whole)
		return;
	if (coordinated_due())
		decide_no(board_wanted(own.board), "a callback before the checkpoint has failed");
	leave_point();
}

/* ---- whether ---- */

static bool gone(const struct board_slot *s, const char *host)
{
	if (s->state == BOARD_GONE || s->state == BOARD_ABSENT)
		return true;
	const int dir = strcmp(s->host, host) ? -EXDEV : rank_open(s);
	if (dir >= 0)
		close(dir);
	return dir == -ESRCH || dir == -ENOENT;
}

/* A job whose checkpoints are all refused must not seem to have some; rdb run says it at the end, too. */
static void say_refused(uint64_t generation, const char *why)
{
	static unsigned said;
	static char last[512];
	if (said == SAID || !strcmp(last, why))
		return;
	said++;
	snprintf(last, sizeof(last), "%s", why);
	rdb_warn("checkpoint %lu is not taken: %s; the job goes on%s", (unsigned long)generation, why,
		 said == SAID ? " (further reasons are not printed here)" : "");
}

/* Refuses a generation.  With other hosts the relay decides, as long as there is one. */
static void refuse(uint64_t generation, const char *why)
{
	struct board *b = own.board;
	if (!b->relayed) {
		if (board_decide(b, generation, BOARD_NO, why))
			say_refused(generation, why);
	} else if (own.slot->objects < generation) {
		snprintf(b->why, sizeof(b->why), "%s", why);
		__atomic_store_n(&own.slot->objects, generation, __ATOMIC_SEQ_CST);
		say_refused(generation, why);
	}
}

static void decide_no(uint64_t generation, const char *why)
{
	char text[512];
	snprintf(text, sizeof(text), "rank %d: %s", lower.opt.rank, why);
	refuse(generation, text);
}

static void look_for_all(uint64_t generation)
{
	char host[64] = "", why[128];
	gethostname(host, sizeof(host) - 1);
	for (unsigned rank = 0; rank < own.board->nranks; rank++)
		if (gone(board_slot(own.board, rank), host)) {
			snprintf(why, sizeof(why), "rank %u has ended, or has not begun", rank);
			refuse(generation, why);
		}
	if (own.board->relay && raw_syscall(SYS_kill, own.board->relay, 0, 0, 0, 0, 0) == -ESRCH)
		board_decide(own.board, generation, BOARD_NO,
			     "the rdb process that speaks for the ranks of its host has ended");
}

/* ---- where ---- */

static uint64_t patience_ns(void)
{
	return (own.board->relayed ? PATIENCE_HOSTS_S : PATIENCE_S) * 1000000000ull;
}

/* A message sent by a rank that goes on must not get into the image of a rank that has none yet.  A rank that cannot
 * wait any longer first declares this checkpoint failed. */
static void wait_for_images(uint64_t generation)
{
	char host[64] = "";
	gethostname(host, sizeof(host) - 1);
	const uint64_t until = monotonic_ns() + patience_ns();
	for (unsigned rank = 0, turn = 0; rank < own.board->nranks; turn++) {
		const struct board_slot *s = board_slot(own.board, rank);
		if (__atomic_load_n(&s->imaged, __ATOMIC_SEQ_CST) >= generation)
			rank++;
		else if (turn > SPINS && turn % LOOK_NAPS == 0 && gone(s, host))
			rank++; /* it will never be committed */
		else if (monotonic_ns() > until) {
			__atomic_store_n(&own.slot->failed, generation, __ATOMIC_SEQ_CST);
			rdb_warn("checkpoint %lu is given up: rank %u did not take its image in time; the job goes on",
				 (unsigned long)generation, rank);
			return;
		} else {
			halt_nap(turn, SPINS, NAP_NS);
		}
	}
}

/* Is some rank inside a collective that others have not begun?  They may need something that this rank does when it
 * goes on, so after some time it goes on. */
static bool somebody_behind(void)
{
	for (unsigned rank = 0; rank < own.board->nranks; rank++)
		if (board_behind(own.board, rank))
			return true;
	return false;
}

/* Is some rank in a call that waits for others, and may need this rank there?  If it may be held in that call, its MPI
 * has not looked yet. */
static bool somebody_away(void)
{
	for (unsigned rank = 0; rank < own.board->nranks; rank++) {
		const struct board_slot *s = board_slot(own.board, rank);
		if (__atomic_load_n(&s->away, __ATOMIC_SEQ_CST) && s->state == BOARD_RUNS)
			return true;
	}
	return false;
}

/* All ranks are held, and so are their connections.  No rank leaves that while this is decided. */
static void decide(uint64_t generation)
{
	if (!board_lock(own.board))
		return;
	if (board_stable(own.board)) {
		const char *why = socket_ends_unmatched(generation);
		board_decide(own.board, generation, why ? BOARD_NO : BOARD_GO, why);
	}
	board_unlock(own.board);
}

/* The rank is not to be held any longer.  False: all others have relied on it meanwhile.  Where a relay decides there
 * is no lock: seen_elsewhere() compares what the relay has seen. */
static bool leave(uint64_t generation)
{
	const bool relayed = own.board->relayed;
	if (!relayed && !board_lock(own.board)) {
		board_decide(own.board, generation, BOARD_NO,
			     "a rank holds the lock of the checkpoint board and does not release it");
		return false;
	}
	const bool open = board_verdict(own.board, generation) == BOARD_OPEN;
	if (open)
		set_state(BOARD_RUNS);
	if (!relayed)
		board_unlock(own.board);
	return open;
}

/* True: the relay decided by what this rank had said before it went on, so its image would not fit the others'. */
static bool seen_elsewhere(uint64_t generation)
{
	if (!own.board->relayed || __atomic_load_n(&own.slot->agreed, __ATOMIC_SEQ_CST) == own.slot->moves)
		return false;
	rdb_warn("checkpoint %lu is given up: rank %d was no longer held when all ranks were to take their images; "
		 "the job goes on",
		 (unsigned long)generation, lower.opt.board_rank);
	__atomic_store_n(&own.slot->failed, generation, __ATOMIC_SEQ_CST);
	__atomic_store_n(&own.slot->imaged, generation, __ATOMIC_SEQ_CST); /* the others do not wait for it */
	return true;
}

static const char *not_at_rest(void)
{
	static char text[96];
	for (unsigned rank = 0; rank < own.board->nranks; rank++)
		if (__atomic_load_n(&board_slot(own.board, rank)->calls, __ATOMIC_SEQ_CST)) {
			snprintf(text, sizeof(text), "rank %u did not come back from a callback before the checkpoint",
				 rank);
			return text;
		}
	return own.at_point ? "the other ranks did not come to rest, or to this safe point, in time"
			    : "the other ranks did not come to rest in time";
}

/* True: the generation is decided.  False: the rank must go on first. */
static bool wait_for_verdict(uint64_t generation, bool waits)
{
	if (own.held_for != generation)
		own.held_ns = 0;
	own.held_for = generation;
	const uint64_t began = monotonic_ns(), held_ns = own.held_ns, until = began + patience_ns() - held_ns,
		       unsent_until = began + UNSENT_S * 1000000000ull;
	for (unsigned turn = 0;; turn++) {
		enum board_verdict verdict = board_verdict(own.board, generation);
		if (verdict != BOARD_OPEN)
			return true;
		if (halt_any_complete())
			return false;
		const bool unsent = kernel_sockets_unsent();
		__atomic_store_n(&own.slot->pending, host_coordinated_settle() + unsent, __ATOMIC_SEQ_CST);
		if (!host_coordinated_may_hold(waits) || (own.at_point && point_left()) ||
		    (!waits && !own.at_point &&
		     (board_silent(own.board) || board_behind(own.board, (unsigned)lower.opt.board_rank))))
			return false;
		if (!own.board->relayed && board_stable(own.board))
			decide(generation);
		if (unsent && monotonic_ns() > unsent_until)
			decide_no(generation, "one of its sockets has unsent bytes that the other end does not take");
		if (turn % LOOK_NAPS == LOOK_NAPS - 1) {
			look_for_all(generation);
			if (!waits && !own.at_point && (somebody_behind() || somebody_away()))
				return false;
			signal_stragglers();
		}
		if (monotonic_ns() > until)
			decide_no(generation, not_at_rest());
		if (monotonic_ns() > until + LAST_S * 1000000000ull)
			board_decide(own.board, generation, BOARD_NO, "the other hosts do not answer");
		halt_nap(turn, SPINS, NAP_NS);
		own.held_ns = held_ns + monotonic_ns() - began;
	}
}

/* All threads of this rank stand still, the calling one with the registers uc, or (NULL) before its call. */
static bool held(const ucontext_t *uc)
{
	const uint64_t generation = board_wanted(own.board);
	const bool waits = halt_all_wait();
	if (own.done >= generation)
		return false;
	if (board_verdict(own.board, generation) == BOARD_OPEN &&
	    (!host_coordinated_may_hold(waits) || objections_may_pass(generation)))
		return false;
	const char *why = objections();
	if (!why && own.board->relayed && kernel_sockets_connected())
		why = "it has connected sockets, and the job runs on several hosts";
	if (!why && socket_ends_publish(generation))
		why = "the list of its sockets cannot be written";
	if (why)
		decide_no(generation, why);
	else
		look_for_all(generation);
	own.slot->pending = 1;
	set_state(BOARD_HELD);
	const bool over = wait_for_verdict(generation, waits) || !leave(generation);
	if (over && board_verdict(own.board, generation) == BOARD_GO && !seen_elsewhere(generation)) {
		uint64_t forking = monotonic_ns();
		note_writer(checkpoint_state_take(own.board, uc, generation));
		__atomic_store_n(&own.slot->imaged, generation, __ATOMIC_SEQ_CST);
		own.slot->fork_ns = monotonic_ns() - forking;
		wait_for_images(generation);
		own.slot->stood_ns = monotonic_ns() - halt_since_ns();
		own.cost_ns = own.slot->stood_ns;
	}
	if (over) {
		set_state(BOARD_RUNS);
		own.done = generation;
		lower.checkpoint_waits = false;
		socket_ends_drop();
	}
	return true;
}

bool coordinated_hold(const ucontext_t *uc, bool (*complete)(void *), void *arg)
{
	if (!coordinated_due() || (lower.upper.hooked && !own.at_point))
		return false;
	/* the thread is inside a function that a library called */
	if (thread_self()->gate.upcall_sp || thread_self()->halted || !lower.started || lower.ended)
		return false;
	if (!own.at_point && (!complete || threads_alive() > 1) &&
	    board_verdict(own.board, board_wanted(own.board)) == BOARD_OPEN &&
	    (board_silent(own.board) || board_behind(own.board, (unsigned)lower.opt.board_rank)))
		return false;
	return halt_here(uc, complete, arg, held);
}

void coordinated_at_event(ucontext_t *uc)
{
	struct thread *self = thread_self();
	if (!coordinated_due() || self->state != THREAD_RUNS || self->depth) {
		lower.checkpoint_waits = lower.checkpoint_waits && coordinated_due();
		if (own.at_point == self)
			leave_point();
		return;
	}
	if (uc) {
		coordinated_hold(uc, NULL, NULL);
		if (own.at_point == self)
			leave_point();
	} else if (!self->at_trap) {
		self->at_trap = true;
		boundary_trap_on_return();
	}
}

void coordinated_at_trap(ucontext_t *uc)
{
	struct thread *self = thread_self();
	if (self->at_trap)
		coordinated_hold(uc, NULL, NULL);
	if (own.at_point == self)
		leave_point();
	self->at_trap = false;
}

void coordinated_gone(void)
{
	if (!own.board)
		return;
	/* the board stays mapped: another thread may be about to read it */
	set_state(BOARD_GONE);
}

void coordinated_forked(void)
{
	if (own.board)
		board_close(own.board);
	memset(&own, 0, sizeof(own));
	interval_forked();
	halt_forked();
	lower.checkpoint_waits = false;
	if (coordinating())
		mode_switch(&mode_pass);
}
