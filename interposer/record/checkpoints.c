/* A checkpoint stops the program for as long as it takes to ask which pages it wrote to, and to fork.  The
 * child writes the image.  It has no exit signal, so the program's own wait() does not see it (wait(2),
 * __WCLONE), closes all descriptors, and shares nothing that the program could notice.
 *
 * By default checkpoints are due after so much log or time, and only as often as COST_PERCENT of the time
 * allows: the stop, the child's processor time, and the page faults that the program takes because its
 * pages are shared with the child.  The next one is expected to cost what the last one did, the first one
 * what the size of the process says.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "base/monotonic.h"
#include "crossing/boundary.h"
#include "record/checkpoints.h"
#include "record/cut_files.h"
#include "arch/thread_pointer.h"
#include "space/device_memory.h"
#include "space/shared_shadows.h"
#include "text/spin_sites.h"
#include "text/counter_sites.h"
#include "answer/hook_calls.h"
#include "answer/made_text.h"
#include "space/dirty.h"
#include "space/floors.h"
#include "image/image.h"
#include "record/keep.h"
#include "log/log_writer.h"
#include "log/stamp.h"
#include "task/thread.h"
#include "task/thread_images.h"
#include "answer/vfork.h"

enum {
	DEFAULT_LOG = 64 << 20, /* bytes */
	COST_PERCENT = 1,
	SKIPPED = 63,            /* events at most between two looks at the clock, */
	SKIPPED_NS = 1000000,    /* if this little has passed */
	FAULT_NS = 2500,         /* a page fault of the program while the child lives */
	PAGE_NS = 5000,          /* expected cost of a page in the first checkpoint: fork, write, fault */
	PAUSE_NS = 200000,       /* between two looks at a child that is waited for */
	LOOK_MOST_NS = 50000000, /* longest pause that counts: time also passes while this process is stopped */
};
/* A child that is waited for and does nothing for so long is given up. */
static const uint64_t STILL_NS = 10 * 1000000000ul;
static const uint64_t DEFAULT_NS = 10 * 1000000000ul, LOOK_NS = 10 * 1000000ul, AGAIN_NS = 100 * 1000000ul;

/* The child's report. */
struct report {
	volatile int32_t rc;       /* of writing the image */
	volatile uint32_t written; /* 1: rc is there */
	volatile uint32_t packed;  /* images compressed */
};

static struct {
	unsigned number; /* of the newest image begun */
	unsigned base;   /* number of the full image that its chain begins with */
	bool broken;     /* which pages were written to since is not known: the next image is a full one */
	bool wanted;     /* at the trap after a hypercall */
	bool warned;
	bool given_up; /* the child, which has been killed */
	pid_t child;   /* 0: none */
	struct kept writing;
	struct report *report;
	unsigned packed;    /* images before this one have been compressed */
	unsigned done_base; /* base of the newest finished image's chain: older ones are compressed */
	uint64_t started_ns, taken_ns, taken_event, taken_log, looked_ns;
	uint64_t cost_ns, last_cost_ns, stop_ns, again_ns;
	int (*beside)(unsigned number, int rc);
	long faults; /* of the program when the child was forked */
} ckpt;

static volatile bool requested; /* by a signal */
static bool called;             /* the callbacks have run at this safe point */

void checkpoint_request(void)
{
	requested = true;
}

bool checkpoint_point(void)
{
	called = false;
	return requested;
}

void checkpoint_called(bool whole)
{
	called = whole;
	requested = whole;
	if (!whole)
		rdb_warn(
			"rank %d: the checkpoint that was asked for is not taken: a callback before it has failed; the "
			"recording goes on",
			lower.opt.rank);
}

/* Coarse: it is read at every event. */
static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

static long minor_faults(void)
{
	struct rusage ru;
	return getrusage(RUSAGE_SELF, &ru) ? 0 : ru.ru_minflt;
}

static void failed(int rc, int status)
{
	ckpt.broken = true;
	if (ckpt.warned)
		return;
	ckpt.warned = true;
	if (rc)
		rdb_warn("%s: checkpoint %u could not be written: %s; the recording goes on", lower.opt.dir,
			 ckpt.writing.number, strerror(-rc));
	else
		rdb_warn("%s: checkpoint %u could not be written: the process that writes it %s %d; the recording goes "
			 "on",
			 lower.opt.dir, ckpt.writing.number,
			 WIFSIGNALED(status) ? "was killed by signal" : "ended with exit code",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void finished(int status, const struct rusage *ru)
{
	char temp[4096];
	uint64_t log_bytes = log_written();
	ckpt.child = 0;
	ckpt.given_up = false;
	uint64_t cost = (uint64_t)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000000000u +
			(uint64_t)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) * 1000u +
			(uint64_t)(minor_faults() - ckpt.faults) * FAULT_NS;
	ckpt.last_cost_ns = cost + ckpt.stop_ns;
	ckpt.cost_ns += ckpt.last_cost_ns;
	if (!ckpt.report->written || ckpt.report->rc) {
		image_path(temp, sizeof(temp), ckpt.writing.number, ".part");
		unlink(temp);
		failed(ckpt.report->written ? ckpt.report->rc : 0, status);
		return;
	}
	ckpt.done_base = ckpt.writing.base;
	if (!ckpt.report->packed && ckpt.packed < ckpt.done_base && status) {
		image_path(temp, sizeof(temp), ckpt.packed, ".part");
		unlink(temp);
	}
	ckpt.packed += ckpt.report->packed;
	ckpt.writing.bytes = image_bytes(ckpt.writing.number);
	if (keep_add(&ckpt.writing, log_bytes, now_ns()))
		ckpt.broken = true;
	if (ckpt.packed < keep_oldest())
		ckpt.packed = keep_oldest();
}

/* Has the child ended? */
static void look(void)
{
	struct rusage ru;
	int status = 0;
	long pid;
	do
		pid = raw_syscall(SYS_wait4, ckpt.child, (long)&status, WNOHANG | __WCLONE, (long)&ru, 0, 0);
	while (pid == -EINTR);
	if (pid == 0)
		return;
	if (pid < 0) /* gone in some other way */
		memset(&ru, 0, sizeof(ru));
	finished(status, &ru);
}

static bool under_way(void)
{
	return ckpt.child && !ckpt.given_up && !ckpt.report->written;
}

static bool child_gone(void)
{
	siginfo_t gone = {.si_pid = 0};
	return waitid(P_PID, (id_t)ckpt.child, &gone, WEXITED | WNOHANG | WNOWAIT | __WCLONE) || gone.si_pid;
}

static void kill_child(void)
{
	raw_syscall(SYS_kill, ckpt.child, SIGKILL, 0, 0, 0, 0);
}

/* Waits until the child has ended.  Gives it up if it gets no processor time for long: it was stopped, or its disk does
 * not answer. */
static void await_child(bool (*over)(void))
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t used = 0, still = 0, looked_at = clock_ns(CLOCK_MONOTONIC);
	clockid_t clock;
	if (clock_getcpuclockid(ckpt.child, &clock))
		return;
	while (!child_gone() && !(over && over())) {
		const uint64_t now = clock_ns(CLOCK_MONOTONIC), uses = clock_ns(clock), passed = now - looked_at;
		looked_at = now;
		still = uses != used ? 0 : still + (passed < LOOK_MOST_NS ? passed : LOOK_MOST_NS);
		used = uses;
		if (still >= STILL_NS) {
			if (!ckpt.report->written)
				rdb_warn("%s: checkpoint %u is given up: the process that writes it hangs; the "
					 "program goes on",
					 lower.opt.dir, ckpt.writing.number);
			ckpt.warned = ckpt.given_up = true;
			kill_child();
			return;
		}
		nanosleep(&pause, NULL);
	}
}

static bool image_written(void)
{
	return ckpt.report->written;
}

void checkpoint_before(const struct event *ev)
{
	if (under_way() && cut_files_hit(ev))
		await_child(image_written);
}

/* False: it has not ended. */
static bool child_ended(void)
{
	if (ckpt.child && !ckpt.given_up)
		await_child(NULL);
	if (ckpt.child)
		look();
	return !ckpt.child;
}

static void child(const struct image_plan *plan, unsigned pack)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	struct sigaction sa = {.sa_handler = SIG_DFL};
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigaction(faults[i], &sa, NULL);
	thread_pointer_prepare();
	/* others may wait for the end of a pipe, also of the lower half's */
	raw_syscall(SYS_close_range, 0, ~0u, 0, 0, 0, 0);
	device_memory_settle();
	counter_sites_settle();
	spin_sites_settle();
	if (ckpt.beside) /* a replay would need it */
		excluded_drop();
	ckpt.report->rc = image_write(plan, true);
	if (ckpt.beside)
		ckpt.report->rc = ckpt.beside(plan->number, ckpt.report->rc);
	ckpt.report->written = 1;
	/* from here on the program's writes do not copy pages */
	munmap((void *)0x10000, RDB_ARENA_END - 0x10000);
	munmap((void *)RDB_CHOSEN, RDB_CHOSEN_END - RDB_CHOSEN);
	munmap((void *)RDB_CHOSEN_2, RDB_CHOSEN_2_END - RDB_CHOSEN_2);
	if (lower.opt.checkpoint_every.unit != LIMIT_COUNT) /* then the program waits for the child */
		setpriority(PRIO_PROCESS, 0, 19);
	/* with --keep in bytes images are dropped soon, and the program waits for the child */
	if (!ckpt.report->rc && pack < ckpt.done_base && lower.opt.keep.unit != LIMIT_BYTES) {
		int rc = image_compress(pack);
		/* an image that is missing or cannot be read is passed over */
		ckpt.report->packed = rc != -ENOSPC && rc != -EDQUOT;
	}
	raw_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

static int begin(struct image_plan *plan)
{
	sigset_t all, before;
	if (!ckpt.report) {
		void *p = mmap(NULL, RDB_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		ckpt.report = p;
	}
	*ckpt.report = (struct report){0};
	ckpt.faults = minor_faults();
	/* A signal must not meet the child with the rank's handlers.  Faults cannot be blocked. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigprocmask(SIG_SETMASK, &all, &before);
	cut_files_begin();
	shared_freeze();
	long pid = raw_syscall(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (pid == 0)
		child(plan, ckpt.packed);
	shared_restore();
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return (int)pid;
	if (lower.shares)
		floors_expect((uint32_t)pid); /* no outsider: it stores nothing in what the processes share */
	ckpt.child = (pid_t)pid;
	return 0;
}

/* Gathers what an image is made of: the threads, where the log is, and which pages.  A full image begins a chain. */
static int gather(struct image_plan *plan, const ucontext_t *uc)
{
	static struct table dirty, threads;
	plan->threads = threads;
	plan->threads.len = dirty.len = 0;
	int rc = threads_take(&plan->threads, uc);
	threads = plan->threads;
	if (!rc && !dirty_collect(&dirty))
		plan->dirty = &dirty;
	log_position(&plan->log_segment, &plan->log_off);
	if (!plan->incremental)
		ckpt.base = plan->number;
	ckpt.number = plan->number;
	ckpt.broken = false;
	return rc;
}

static void take(ucontext_t *uc)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW), now = now_ns();
	struct image_plan plan = {.number = ckpt.number + 1};
	ckpt.wanted = requested = called = false;
	ckpt.taken_ns = now;
	ckpt.taken_event = lower.event;
	ckpt.taken_log = log_written();
	plan.incremental = !ckpt.broken && plan.number - ckpt.base < keep_chain();
	int rc = gather(&plan, uc);
	ckpt.writing = (struct kept){
		.number = plan.number,
		.base = ckpt.base,
		.log_segment = plan.log_segment,
		.event = lower.event,
		.at_ns = now,
		.log_before = ckpt.taken_log - plan.log_off,
	};
	if (!rc)
		rc = begin(&plan);
	if (rc)
		failed(rc, 0);
	else
		event_checkpoint(plan.number, clock_ns(CLOCK_MONOTONIC_RAW) - before);
	ckpt.stop_ns = clock_ns(CLOCK_MONOTONIC_RAW) - before;
}

int checkpoint_coordinated(const ucontext_t *uc, unsigned number, int (*beside)(unsigned number, int rc))
{
	struct image_plan plan = {.number = number};
	if (ckpt.child) {
		/* a child that has written its image only compresses others: no need to wait for that */
		if (ckpt.report->written)
			kill_child();
		if (!child_ended())
			return -ETIMEDOUT;
	}
	plan.incremental = !ckpt.broken && ckpt.number && number == ckpt.number + 1 &&
			   number - ckpt.base < keep_chain();
	int rc = gather(&plan, uc);
	plan.packed = plan.dirty; /* else the next image compares pages with those of this one */
	ckpt.beside = beside;
	ckpt.writing = (struct kept){.number = number, .base = ckpt.base, .at_ns = now_ns()};
	if (!rc)
		rc = begin(&plan);
	if (rc)
		failed(rc, 0);
	return rc ? rc : ckpt.child;
}

/* proc(5), /proc/pid/statm: size, resident, ... in pages */
static uint64_t resident_pages(void)
{
	char text[128], *end;
	descriptor_text("/proc/self/statm", text, sizeof(text));
	strtoul(text, &end, 10);
	return strtoul(end, NULL, 10);
}

static bool affordable(uint64_t now)
{
	if (now < ckpt.again_ns)
		return false;
	ckpt.again_ns = now + AGAIN_NS;
	uint64_t next = ckpt.last_cost_ns ? ckpt.last_cost_ns : resident_pages() * PAGE_NS;
	return (ckpt.cost_ns + next) * 100 <= (now - ckpt.started_ns) * COST_PERCENT;
}

static bool due(uint64_t now)
{
	const struct limit *every = &lower.opt.checkpoint_every, *keep = &lower.opt.keep;
	uint64_t events = lower.event - ckpt.taken_event, elapsed = now - ckpt.taken_ns;
	if (requested && (called || !lower.upper.hooked))
		return true;
	switch (every->unit) {
	case LIMIT_COUNT: return events >= every->value;
	case LIMIT_SECONDS: return events && elapsed >= every->value;
	case LIMIT_BYTES: return log_written() - ckpt.taken_log >= every->value;
	case LIMIT_NONE: break;
	}
	if (keep->unit == LIMIT_SECONDS && elapsed >= keep->value / 4 && events)
		return true;
	uint64_t grown = log_written() - ckpt.taken_log;
	if (keep->unit == LIMIT_BYTES && grown >= keep->value / 8)
		return true;
	return (grown >= DEFAULT_LOG || (elapsed >= DEFAULT_NS && events)) && affordable(now);
}

/* The log grows faster than images are written: then the program waits, or --keep would bound nothing. */
static bool outgrown(void)
{
	const struct limit *keep = &lower.opt.keep;
	return keep->unit == LIMIT_BYTES && log_written() - ckpt.taken_log >= keep->value / 4;
}

static struct {
	unsigned left;
	uint64_t at_ns;
} looked;

/* True: the last look was just now.  By default nothing that is due depends on the exact event. */
static bool just_looked(void)
{
	const enum limit_unit keep = lower.opt.keep.unit;
	if (looked.left && !requested && !ckpt.child && stamp_last - looked.at_ns < SKIPPED_NS) {
		looked.left--;
		return true;
	}
	looked.left = lower.opt.checkpoint_every.unit == LIMIT_NONE && keep != LIMIT_BYTES && keep != LIMIT_SECONDS
			      ? SKIPPED
			      : 0;
	looked.at_ns = stamp_last;
	return false;
}

void checkpoint_if_due(ucontext_t *uc)
{
	if ((lower.opt.no_checkpoints && !requested) || lower.ended || just_looked())
		return;
	uint64_t now = now_ns();
	if (!ckpt.started_ns)
		ckpt.started_ns = ckpt.taken_ns = now;
	if (ckpt.child && now - ckpt.looked_ns >= LOOK_NS) {
		ckpt.looked_ns = now;
		look();
	}
	/* No fork in a vfork child: the pages that it alone has mapped are those that it wrote to. */
	if (!due(now))
		return;
	looked.left = 0; /* until it is taken */
	if (!threads_at_rest() || vfork_under_way() || !device_memory_may_fork() ||
	    (device_regions && !device_memory_settled()))
		return;
	if (ckpt.child && (requested || lower.opt.checkpoint_every.unit == LIMIT_COUNT || outgrown()))
		child_ended();
	if (ckpt.child)
		return;
	if (uc) {
		take(uc);
	} else if (!ckpt.wanted) {
		ckpt.wanted = true;
		boundary_trap_on_return();
	}
}

void checkpoint_at_trap(ucontext_t *uc)
{
	if (ckpt.wanted && recording() && !lower.ended)
		take(uc);
	ckpt.wanted = false;
}

void checkpoints_forked(void)
{
	dirty_forget();
	keep_forked();
	if (ckpt.report)
		munmap(ckpt.report, RDB_PAGE);
	memset(&ckpt, 0, sizeof(ckpt));
	requested = called = false;
}

void checkpoints_end(enum log_end how)
{
	made_text_end();
	if (!ckpt.child)
		return;
	/* After execve it would be the child of a program that knows nothing of it; otherwise it finishes. */
	if (how != LOG_END_EXEC)
		return;
	kill_child();
	ckpt.warned = true;
	child_ended();
}
