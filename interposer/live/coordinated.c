#include "live/coordinated.h"
#define RDB_BOARD_OWNER
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "boundary/boundary.h"
#include "boundary/hot_stubs.h"
#include "boundary/table.h"
#include "image/checkpoints.h"
#include "image/image.h"
#include "live/board.h"
#include "live/kernel_files.h"
#include "live/timers.h"
#include "live/open_table.h"
#include "log/crc32c.h"
#include "log/keep.h"
#include "memory/arena.h"
#include "process/descriptors.h"
#include "process/io.h"
#include "process/private_file.h"
#include "signals/signal_queue.h"
#include "signals/signals.h"
#include "threads/thread.h"

enum { PATIENCE_S = 300, LAST_S = 60, SPINS = 200, NAP_NS = 50000, LOOK_NAPS = 2000 };

bool coordinated_waits;

static struct {
	struct board *board;
	struct board_slot *slot;
	uint64_t done; /* newest generation that this rank has dealt with */
	bool holding, at_trap;
	timer_t timer;
	bool timer_made;
	struct table library, files;
	struct state_head head;
	double cost_s; /* of the newest checkpoint */
} own;

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void set_state(enum board_state state)
{
	__atomic_store_n(&own.slot->state, state, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&own.slot->moves, 1, __ATOMIC_SEQ_CST);
}

/* ---- when ---- */

/* Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006), equation 37; its first
 * term is Young's. */
static double optimum_s(double cost_s, double mtbf_s)
{
	double half = cost_s / (2 * mtbf_s);
	if (cost_s >= 2 * mtbf_s)
		return mtbf_s;
	return sqrt(2 * cost_s * mtbf_s) * (1 + sqrt(half) / 3 + half / 9) - cost_s;
}

static void set_timer(void)
{
	const struct limit *every = &lower.opt.checkpoint_every;
	double s = every->unit == LIMIT_SECONDS ? (double)every->value / 1e9
		   : lower.opt.mtbf_s           ? optimum_s(own.cost_s, lower.opt.mtbf_s)
						: 0;
	if (s <= 0 || lower.opt.board_rank != 0)
		return;
	if (s < 0.01)
		s = 0.01;
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGNALS_REMINDER,
			       .sigev_value.sival_ptr = (void *)SIGNALS_CHECKPOINT};
	struct itimerspec in = {.it_value = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)}};
	if (!own.timer_made && timer_create(CLOCK_MONOTONIC, &how, &own.timer) == 0)
		own.timer_made = true;
	if (own.timer_made)
		timer_settime(own.timer, 0, &in, NULL);
}

void coordinated_join(void)
{
	int rc = board_open(lower.opt.board, lower.opt.board_ranks, &own.board);
	if (rc)
		rdb_fatal("%s: %s", lower.opt.board, strerror(-rc));
	own.slot = board_slot(own.board, (unsigned)lower.opt.board_rank);
	own.slot->pid = lower.pid;
	gethostname(own.slot->host, sizeof(own.slot->host) - 1);
	/* what was wanted before it began is not for it; who asks finds that not all are there */
	own.done = board_wanted(own.board);
	own.cost_s = 0.1;
}

void coordinated_begin(void)
{
	if (!own.board)
		coordinated_join();
	kernel_files_begin();
	set_state(BOARD_RUNS);
	set_timer();
}

bool coordinated_due(void)
{
	return own.board && !own.holding && board_wanted(own.board) > own.done;
}

struct board *coordinated_board(void)
{
	return own.board;
}

void coordinated_heard(void)
{
	if (coordinated_due())
		coordinated_waits = true;
}

void coordinated_want(void)
{
	struct board *b = own.board;
	char host[64] = "";
	if (!b)
		return;
	uint64_t newest = board_wanted(b), next = newest + 1;
	if (newest && board_verdict(b, newest) == BOARD_OPEN)
		return; /* one is under way */
	if (!__atomic_compare_exchange_n(&b->wanted, &newest, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	coordinated_heard();
	gethostname(host, sizeof(host) - 1);
	siginfo_t info = {.si_signo = SIGNALS_REMINDER, .si_code = SI_QUEUE};
	info.si_value.sival_ptr = (void *)SIGNALS_CHECKPOINT;
	for (unsigned rank = 0; rank < b->nranks; rank++) {
		const struct board_slot *s = board_slot(b, rank);
		/* those on other hosts come to it at their next call of MPI */
		if (s != own.slot && (s->state == BOARD_RUNS || s->state == BOARD_HELD) && !strcmp(s->host, host))
			raw_syscall(SYS_rt_sigqueueinfo, s->pid, SIGNALS_REMINDER, (long)&info, 0, 0, 0);
	}
}

void coordinated_tick(void)
{
	coordinated_want();
	set_timer();
}

/* ---- whether ---- */

static int shared_mapping(const struct mapping *m, void *arg)
{
	*(bool *)arg |= m->shared;
	return 0;
}

static bool has_children(void)
{
	siginfo_t info;
	return raw_syscall(SYS_waitid, P_ALL, 0, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) != -ECHILD;
}

/* A timer of the program's own, by /proc/self/timers: all but ours. */
static bool has_timers(void)
{
	static char text[4096];
	int fd = descriptor_open(AT_FDCWD, "/proc/self/timers", O_RDONLY, 0), timers = 0;
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	for (const char *at = text; (at = strstr(at, "signal: ")); at++)
		timers++;
	return timers > (own.timer_made ? 1 : 0);
}

static const char *refusal(void)
{
	bool shared = false;
	if (threads_alive() != 1)
		return "it has more than one thread";
	if (thread_self()->gate.upcall_sp)
		return "it is inside a function that a library called";
	if (has_children())
		return "it has child processes";
	if (arena_each(shared_mapping, &shared) || shared)
		return "it has shared memory";
	if (has_timers())
		return "it has timers of timer_create(2)";
	const char *why = kernel_files_look();
	return why ? why : host_together_refuses();
}

static bool gone(const struct board_slot *s, const char *host)
{
	return s->state == BOARD_GONE || s->state == BOARD_ABSENT ||
	       (!strcmp(s->host, host) && raw_syscall(SYS_kill, s->pid, 0, 0, 0, 0, 0) == -ESRCH);
}

/* Where others are on other hosts the answer comes from there, as long as somebody brings it. */
static void refuse(uint64_t generation, const char *why)
{
	struct board *b = own.board;
	if (!b->relayed) {
		board_decide(b, generation, BOARD_NO, why);
	} else if (own.slot->objects < generation) {
		snprintf(b->why, sizeof(b->why), "%s", why);
		__atomic_store_n(&own.slot->objects, generation, __ATOMIC_SEQ_CST);
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
		board_decide(own.board, generation, BOARD_NO, "the process that speaks for its host has ended");
}

/* ---- the files ---- */

static int write_state(unsigned number)
{
	char path[4096], temp[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/state-%u", lower.opt.dir, number) >= sizeof(path) ||
	    (size_t)snprintf(temp, sizeof(temp), "%s.part", path) >= sizeof(temp))
		return -ENAMETOOLONG;
	int fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return fd;
	int rc = io_write_all(fd, &own.head, sizeof(own.head), 0, 1 << 20);
	if (!rc)
		rc = io_write_all(fd, own.library.base, own.library.len, sizeof(own.head), 1 << 20);
	if (!rc)
		rc = io_write_all(fd, own.files.base, own.files.len, sizeof(own.head) + own.library.len, 1 << 20);
	return private_publish(fd, rc, temp, path);
}

/* The record by which a checkpoint is one: made by the rank whose files are whole last. */
static void commit(uint64_t generation)
{
	if (own.board->relayed)
		return; /* the relay that decides sees all */
	char path[4096], temp[4096], text[128];
	for (unsigned rank = 0; rank < own.board->nranks; rank++)
		if (__atomic_load_n(&board_slot(own.board, rank)->written, __ATOMIC_SEQ_CST) < generation)
			return;
	const char *slash = strrchr(lower.opt.board, '/');
	int len = slash ? (int)(slash - lower.opt.board) : 0;
	snprintf(path, sizeof(path), "%.*s/commit-%lu", len, lower.opt.board, (unsigned long)generation);
	snprintf(temp, sizeof(temp), "%.*s/.commit-%lu-%d", len, lower.opt.board, (unsigned long)generation,
		 lower.opt.rank);
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	int n = snprintf(text, sizeof(text), "{\"number\": %lu, \"ranks\": %u, \"at_ns\": %lu}\n",
			 (unsigned long)generation, own.board->nranks,
			 (unsigned long)ts.tv_sec * 1000000000ul + (unsigned long)ts.tv_nsec);
	int fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	int rc = fd < 0 ? fd : io_write_all(fd, text, (size_t)n, 0, 4096);
	if (!private_publish(fd, rc, temp, path))
		__atomic_store_n(&own.board->committed, generation, __ATOMIC_SEQ_CST);
}

/* Older ones that are not kept: first the record by which they are any. */
static void remove_gone(void)
{
	char path[4096];
	unsigned number, until = keep_gone(&number);
	for (; number < until; number++) {
		const char *slash = strrchr(lower.opt.board, '/');
		snprintf(path, sizeof(path), "%.*s/commit-%u", slash ? (int)(slash - lower.opt.board) : 0,
			 lower.opt.board, number);
		unlink(path);
		snprintf(path, sizeof(path), "%s/state-%u", lower.opt.dir, number);
		unlink(path);
		image_path(path, sizeof(path), number, "");
		unlink(path);
		for (unsigned file = 0; file < OPENED; file++) {
			snprintf(path, sizeof(path), "%s/was-%u-%u", lower.opt.dir, number, file);
			unlink(path);
		}
	}
}

/* In the forked child, when the image is written. */
static int beside(unsigned number, int rc)
{
	remove_gone();
	if (!rc)
		rc = write_state(number);
	if (rc) {
		__atomic_store_n(&own.slot->failed, number, __ATOMIC_SEQ_CST);
		return rc;
	}
	__atomic_store_n(&own.slot->written, number, __ATOMIC_SEQ_CST);
	commit(number);
	return 0;
}

static int gather(unsigned number)
{
	own.library.len = own.files.len = 0;
	memset(&own.head, 0, sizeof(own.head));
	int rc = host_together_save(&own.library);
	if (rc)
		return rc;
	const char *why = kernel_files_save(&own.files, number);
	if (why) {
		rdb_warn("rank %d: checkpoint %u: %s", lower.opt.rank, number, why);
		return -EIO;
	}
	own.head.magic = STATE_MAGIC;
	own.head.version = STATE_VERSION;
	own.head.number = number;
	own.head.library_len = own.library.len;
	own.head.files_len = own.files.len;
	timers_look(own.head.timers);
	raw_syscall(SYS_rt_sigpending, (long)&own.head.pending, 8, 0, 0, 0, 0);
	own.head.pending = (own.head.pending | signal_arrived(thread_self())) & ~(1ull << (SIGNALS_REMINDER - 1));
	uint32_t check = crc32c_data(0, own.library.base, own.library.len);
	own.head.check = crc32c_data(check, own.files.base, own.files.len);
	return 0;
}

static void take(const ucontext_t *uc, uint64_t generation)
{
	static ucontext_t before_call;
	if (!uc) {
		thread_context(thread_self(), &before_call);
		uc = &before_call;
	}
	int rc = gather((unsigned)generation);
	keep_together((unsigned)__atomic_load_n(&own.board->committed, __ATOMIC_ACQUIRE));
	if (!rc)
		rc = checkpoint_together(uc, (unsigned)generation, beside);
	unsigned gone;
	keep_gone(&gone); /* its child's doing */
	if (rc) {
		rdb_warn("rank %d: checkpoint %lu could not be taken: %s", lower.opt.rank, (unsigned long)generation,
			 strerror(-rc));
		__atomic_store_n(&own.slot->failed, generation, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&own.slot->imaged, generation, __ATOMIC_SEQ_CST);
}

/* ---- where ---- */

static void nap(unsigned turn)
{
	const struct timespec ts = {.tv_nsec = NAP_NS};
	if (turn < SPINS)
		sched_yield();
	else
		raw_syscall(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

/* A message sent by a rank that goes on must not get into the image of one that has none yet. */
static void wait_for_images(uint64_t generation)
{
	char host[64] = "";
	gethostname(host, sizeof(host) - 1);
	for (unsigned rank = 0, turn = 0; rank < own.board->nranks; turn++) {
		const struct board_slot *s = board_slot(own.board, rank);
		if (__atomic_load_n(&s->imaged, __ATOMIC_SEQ_CST) >= generation)
			rank++;
		else if (turn > SPINS && turn % LOOK_NAPS == 0 && gone(s, host))
			rank++; /* it will never be committed */
		else
			nap(turn);
	}
}

/* True: the image is taken, or will not be; false: the rank must go on first. */
static bool wait_for_verdict(uint64_t generation, bool (*complete)(void *), void *arg)
{
	const uint64_t until = now_ns() + PATIENCE_S * 1000000000ull;
	for (unsigned turn = 0;; turn++) {
		enum board_verdict verdict = board_verdict(own.board, generation);
		if (verdict != BOARD_OPEN)
			return true;
		if (complete && complete(arg))
			return false;
		__atomic_store_n(&own.slot->pending, host_together_settle(), __ATOMIC_SEQ_CST);
		if (!host_together_may_hold(complete != NULL) ||
		    (!complete && board_behind(own.board, (unsigned)lower.opt.board_rank)))
			return false;
		if (!own.board->relayed && board_stable(own.board))
			board_decide(own.board, generation, BOARD_GO, NULL);
		if (turn % LOOK_NAPS == LOOK_NAPS - 1)
			look_for_all(generation);
		if (now_ns() > until)
			decide_no(generation, "the others did not come to rest in time");
		if (now_ns() > until + LAST_S * 1000000000ull)
			board_decide(own.board, generation, BOARD_NO, "the other hosts do not answer");
		nap(turn);
	}
}

bool coordinated_hold(const ucontext_t *uc, bool (*complete)(void *), void *arg)
{
	if (!coordinated_due())
		return false;
	const uint64_t generation = board_wanted(own.board);
	const struct thread *self = thread_self();
	if (self->gate.upcall_sp || !lower.started || lower.ended)
		return false; /* inside a function that a library called */
	if (board_verdict(own.board, generation) == BOARD_OPEN) {
		if (!host_together_may_hold(complete != NULL))
			return false;
		if (!complete && board_behind(own.board, (unsigned)lower.opt.board_rank))
			return false;
	}
	own.holding = true;
	uint64_t begun = now_ns();
	const char *why = refusal();
	if (why)
		decide_no(generation, why);
	else
		look_for_all(generation);
	own.slot->pending = 1;
	set_state(BOARD_HELD);
	bool over = wait_for_verdict(generation, complete, arg);
	if (over && board_verdict(own.board, generation) == BOARD_GO) {
		uint64_t forking = now_ns();
		take(uc, generation);
		own.slot->fork_ns = now_ns() - forking;
		wait_for_images(generation);
		own.slot->stood_ns = now_ns() - begun;
		own.cost_s = (double)own.slot->stood_ns / 1e9;
	}
	set_state(BOARD_RUNS);
	if (over) {
		own.done = generation;
		coordinated_waits = false;
	}
	own.holding = false;
	return true;
}

void coordinated_at_event(ucontext_t *uc)
{
	const struct thread *self = thread_self();
	if (!coordinated_due() || self->state != THREAD_RUNS || self->depth) {
		coordinated_waits = coordinated_waits && coordinated_due();
		return;
	}
	if (uc) {
		coordinated_hold(uc, NULL, NULL);
	} else if (!own.at_trap) {
		own.at_trap = true;
		boundary_trap_on_return();
	}
}

void coordinated_at_trap(ucontext_t *uc)
{
	if (own.at_trap)
		coordinated_hold(uc, NULL, NULL);
	own.at_trap = false;
}

void coordinated_gone(void)
{
	if (!own.board)
		return;
	set_state(BOARD_GONE);
	board_close(own.board);
	own.board = NULL;
}

void coordinated_forked(void)
{
	if (own.board)
		board_close(own.board);
	memset(&own, 0, sizeof(own));
	coordinated_waits = false;
	lower.opt.checkpoints_only = false;
}
