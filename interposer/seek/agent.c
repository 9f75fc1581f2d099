/* Dispatches the agent's requests (interface/agent.h).  The socket is in channel.c, reading and writing the program in
 * answers.c, moving it in stepping.c. */
#include "interface/agent.h"
#include "crossing/boundary.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/registers.h"
#include "seek/answers.h"
#include "seek/breakpoints.h"
#include "seek/channel.h"
#include "seek/output.h"
#include "seek/stepping.h"
#include "seek/undo_log.h"
#include "space/upper_memory.h"
#include "seek/watch.h"
#include "base/lower.h"
#include "space/aliases.h"
#include "replay/replica.h"
#include "replay/settle.h"

static char diverged[1024]; /* after AGENT_STOP_DIVERGED */
static size_t diverged_len;

static void reply_stopped(void)
{
	const struct agent_stop *stop = stepping_stop();
	const struct agent_gpr *part[2];
	unsigned count[2] = {0, 0};
	struct iovec iov[4] = {{(void *)stop, sizeof(*stop)}};

	if (stop->reason == AGENT_STOP_DIVERGED) {
		iov[1] = (struct iovec){diverged, diverged_len};
		channel_reply_parts(0, iov, 2);
		return;
	}
	if (!stop->traced || !stepping_trace(stop->steps - stop->traced, part, count)) {
		channel_reply_parts(0, iov, 1);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		iov[1 + i] = (struct iovec){(void *)part[i], count[i] * sizeof(*part[i])};
	channel_reply_parts(0, iov, 3);
}

static void fork_replica(void)
{
	long pid;

	if (channel.passed_fd < 0) {
		channel_reply(-EBADF, NULL, 0);
		return;
	}
	const int rc = aliases_before_fork();
	if (rc) {
		channel_reply(rc, NULL, 0);
		return;
	}
	/* Not fork(): its handlers take locks of the C library, and this is a signal handler. */
	pid = raw_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	aliases_forked(pid == 0);
	if (pid) {
		channel_not_moved();
		channel_reply(pid, NULL, 0);
		return;
	}
	boundary_replica_forked();
	channel_move();
	upper_close();
	if (upper_open())
		_exit(1);
	watch_forked();
	breakpoints_clear_all();
	output_keep(false);
}

/* Handles one request.  GO_ON, HANDED: the program is to run.  STOPPED: it has stopped, no reply yet.  NOT_OURS: the
 * reply has been sent. */
static enum verdict handle(ucontext_t *uc)
{
	const struct agent_request *rq = &channel.rq;
	uint64_t value[2];
	int rc;

	switch (rq->op) {
	case AGENT_HELLO: answer_hello(); break;
	case AGENT_READ: answer_read_memory(rq->a, rq->b, rq->c); break;
	case AGENT_WRITE: answer_write_memory(rq->a, rq->len); break;
	case AGENT_GETREGS: answer_get_registers(uc); break;
	case AGENT_SETREGS: answer_set_registers(uc); break;
	case AGENT_BREAK: channel_reply(breakpoints_set(rq->b, rq->a, rq->c, channel.payload, rq->len), NULL, 0); break;
	case AGENT_UNBREAK:
		rc = 0;
		if (rq->a == AGENT_FOREVER)
			breakpoints_clear_all();
		else
			rc = breakpoints_clear(rq->a);
		channel_reply(rc, NULL, 0);
		break;
	case AGENT_WATCH: channel_reply(watch_set(rq->b, rq->a, rq->c, rq->d), NULL, 0); break;
	case AGENT_UNWATCH:
		rc = 0;
		if (rq->a == AGENT_FOREVER)
			watch_clear_all();
		else
			rc = watch_clear(rq->a);
		channel_reply(rc, NULL, 0);
		break;
	case AGENT_RUN: return stepping_run(uc, rq);
	case AGENT_STEP: return stepping_step(uc, rq);
	case AGENT_FORK: fork_replica(); break;
	case AGENT_HASH:
		value[0] = replica_hash(uc);
		channel_reply(0, value, sizeof(value[0]));
		break;
	case AGENT_MAPS: answer_maps(rq->a); break;
	case AGENT_COUNT:
		rc = breakpoints_count(rq->a, replica_event(), value);
		channel_reply(rc, value, rc ? 0 : sizeof(value));
		break;
	case AGENT_OUTPUT: answer_output(); break;
	case AGENT_THREADS: answer_threads(uc); break;
	case AGENT_UNDO:
		value[0] = undo_log_first();
		channel_reply(0, value, sizeof(value[0]));
		break;
	case AGENT_TRACE:
		if (rq->b)
			answer_traced_at(rq->a, rq->c, rq->b == 2 ? rq->d : rq->c + 1, rq->b == 1);
		else
			answer_trace(rq->a);
		break;
	case AGENT_CHANGES: answer_changes(); break;
	case AGENT_ASKED: answer_question(); break;
	case AGENT_ARRAY: answer_array(rq->len); break;
	case AGENT_LOOKOUT: answer_lookout(rq->a, rq->len); break;
	case AGENT_SEEN: answer_seen(); break;
	case AGENT_SETTLE: channel_reply(settle(), NULL, 0); break;
	case AGENT_UNTIL:
		replica_until(rq->a, (uint32_t)rq->b, (int32_t)rq->c);
		channel_reply(0, NULL, 0);
		break;
	case AGENT_EXIT: channel_reply(0, NULL, 0); _exit(0);
	default: channel_reply(-ENOSYS, NULL, 0);
	}
	return NOT_OURS;
}

/* Answers requests until one lets the program run. */
static void serve(ucontext_t *uc)
{
	for (;;) {
		enum verdict v;

		channel_receive();
		v = handle(uc);
		if (v == GO_ON || v == HANDED) {
			watch_resume();
			return;
		}
		if (v == STOPPED)
			reply_stopped();
	}
}

/* `paused`: result of watch_pause() at the start of the handler. */
static void after(enum verdict v, ucontext_t *uc, bool paused)
{
	if (v == STOPPED) {
		reply_stopped();
		serve(uc);
	} else if (!paused) {
		watch_resume();
	}
}

int agent_init(int socket_fd)
{
	/* Snapshots end on their own; nobody waits for them. */
	if (signal(SIGCHLD, SIG_IGN) == SIG_ERR)
		return -errno;
	channel_open(socket_fd);
	return upper_open();
}

void agent_started(ucontext_t *uc)
{
	serve(uc);
}

void agent_event(uint64_t event, ucontext_t *uc)
{
	const bool paused = watch_pause();

	output_event(event);
	after(stepping_event(event, uc), uc, paused);
}

bool agent_sigtrap(siginfo_t *info, ucontext_t *uc)
{
	const bool paused = watch_pause();
	enum verdict v = stepping_trap(info, uc);

	after(v, uc, paused);
	return v != NOT_OURS;
}

void agent_end(ucontext_t *uc, uint32_t end_kind, int32_t end_value)
{
	after(stepping_end(uc, AGENT_STOP_END, end_kind, end_value), uc, true);
	_exit(0); /* not reached: after the end every RUN and STEP is answered at once */
}

void agent_diverged(ucontext_t *uc, const char *text)
{
	diverged_len = strnlen(text, sizeof(diverged));
	memcpy(diverged, text, diverged_len);
	after(stepping_end(uc, AGENT_STOP_DIVERGED, 0, 0), uc, true);
	_exit(0);
}

bool agent_faulted(const siginfo_t *info, ucontext_t *uc)
{
	const bool paused = watch_pause();
	enum verdict v = uc_fault_fetched(uc) ? stepping_unfetched(info, uc) : stepping_guarded(info, uc);
	bool displaced = v == NOT_OURS && stepping_displaced(uc);

	after(v, uc, paused);
	return v != NOT_OURS || displaced;
}

bool agent_raises(int sig, const siginfo_t *info, ucontext_t *uc)
{
	const bool paused = watch_pause();
	enum verdict v = stepping_raises(sig, info, uc);

	after(v, uc, paused);
	return v == STOPPED;
}

void agent_handled(ucontext_t *uc)
{
	const bool paused = watch_pause();

	after(stepping_handled(uc), uc, paused);
}

void agent_leaves(void)
{
	const bool paused = watch_pause();

	stepping_leaves();
	after(GO_ON, NULL, paused);
}

void agent_fault(int signal, siginfo_t *info, ucontext_t *uc)
{
	after(stepping_fault(signal, info, uc), uc, true);
}

void agent_interrupt(siginfo_t *info, ucontext_t *uc)
{
	const bool paused = watch_pause();

	after(stepping_interrupt(uc), uc, paused);
}

void agent_look(siginfo_t *info, ucontext_t *uc)
{
	const bool paused = watch_pause();
	uint64_t spent_ns;

	if (stepping_missed(uc, &spent_ns))
		replica_mark_missed(uc, spent_ns);
	after(GO_ON, NULL, paused);
}
