/* The agent's socket and its requests (agent.h); moving is in stepping.c. */
#include "agent/agent.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "memory/arena.h"
#include "agent/breakpoints.h"
#include "agent/changes.h"
#include "boundary/hot_stubs.h"
#include "boundary/lower.h"
#include "agent/output.h"
#include "agent/registers.h"
#include "replay/replica.h"
#include "replay/settle.h"
#include "agent/stepping.h"
#include "agent/undo_log.h"
#include "agent/upper_memory.h"
#include "agent/watch.h"

#define HIGH_FD 700
#define READ_MAX 65536
#define DIVERGED_TEXT 1024

static struct {
	int sock;
	char text[DIVERGED_TEXT]; /* after AGENT_STOP_DIVERGED */
	size_t text_len;
	int passed_fd; /* came with the present request, -1: none */
	struct agent_request rq;
	uint8_t payload[AGENT_PACKET];
	uint8_t answer[AGENT_PACKET];
} agent = {.sock = -1, .passed_fd = -1};

static void reply_parts(int64_t status, struct iovec *part, unsigned nparts)
{
	struct agent_reply r = {.status = status, .op = agent.rq.op};
	struct iovec iov[5] = {{&r, sizeof(r)}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 1 + nparts};
	ssize_t n;

	for (unsigned i = 0; i < nparts; i++) {
		iov[1 + i] = part[i];
		r.len += (uint32_t)part[i].iov_len;
	}
	do
		n = sendmsg(agent.sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		_exit(0); /* the server is gone */
}

static void reply(int64_t status, const void *payload, size_t len)
{
	reply_parts(status, &(struct iovec){(void *)payload, len}, len ? 1 : 0);
}

static void reply_stopped(void)
{
	const struct agent_stop *stop = stepping_stop();
	const struct agent_gpr *part[2];
	unsigned count[2] = {0, 0};
	struct iovec iov[4] = {{(void *)stop, sizeof(*stop)}};

	if (stop->reason == AGENT_STOP_DIVERGED) {
		iov[1] = (struct iovec){agent.text, agent.text_len};
		reply_parts(0, iov, 2);
		return;
	}
	if (!stop->traced || !stepping_trace(stop->steps - stop->traced, part, count)) {
		reply_parts(0, iov, 1);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		iov[1 + i] = (struct iovec){(void *)part[i], count[i] * sizeof(*part[i])};
	reply_parts(0, iov, 3);
}

/* The next request; exits when the server has closed its end. */
static void receive(void)
{
	struct iovec iov[2] = {{&agent.rq, sizeof(agent.rq)}, {agent.payload, sizeof(agent.payload)}};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(agent.sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(agent.rq) || (size_t)n - sizeof(agent.rq) != agent.rq.len)
		_exit(n > 0); /* closed; or a peer that does not speak this protocol */
	if (agent.passed_fd >= 0)
		close(agent.passed_fd);
	agent.passed_fd = -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&agent.passed_fd, CMSG_DATA(c), sizeof(int));
}

static int keep_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static void hello(void)
{
	struct replica_info info;
	struct agent_hello h = {.version = AGENT_VERSION, .event = replica_event()};

	replica_info(&info);
	h.pid = (int32_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	h.last_event = info.last_event;
	h.end_kind = info.end_kind;
	h.end_value = info.end_value;
	h.entry = info.entry;
	h.auxv_addr = info.auxv_addr;
	h.auxv_len = info.auxv_len;
	h.interp_base = info.interp_base;
	reply(0, &h, sizeof(h));
}

static void read_memory(uint64_t addr, uint64_t len, uint64_t step)
{
	size_t n;

	if (len > READ_MAX)
		len = READ_MAX;
	if (!RDB_IS_UPPER(addr))
		len = 0;
	else if (len > RDB_ARENA_END - addr)
		len = RDB_ARENA_END - addr;
	n = upper_read(addr, agent.answer, len);
	hot_sites_hide(addr, agent.answer, n);
	if (step)
		undo_log_apply(step - 1, addr, agent.answer, n);
	reply((int64_t)n, agent.answer, n);
}

static void write_memory(uint64_t addr, size_t len)
{
	bool upper = RDB_IS_UPPER(addr) && len <= RDB_ARENA_END - addr;

	if (upper)
		hot_sites_restore(addr, len);
	reply(upper && upper_write(addr, agent.payload, len) == len ? 0 : -EFAULT, NULL, 0);
}

static void get_registers(const ucontext_t *uc)
{
	static struct replica_thread_info other;
	struct agent_regs *regs = (struct agent_regs *)agent.answer;

	if (agent.rq.a == 0 || agent.rq.a == replica_thread()) {
		registers_get_all(uc, regs);
	} else if (replica_other_thread((uint32_t)agent.rq.a, &other)) {
		registers_get_all(&other.uc, regs);
		regs->gpr.fs_base = other.fs_base;
		regs->gpr.thread = other.number;
	} else {
		reply(-ESRCH, NULL, 0);
		return;
	}
	reply(0, regs, sizeof(*regs));
}

static void set_registers(ucontext_t *uc)
{
	int rc = -EINVAL;

	if (agent.rq.a != 0 && agent.rq.a != replica_thread())
		rc = -EBUSY;
	else if (agent.rq.len == sizeof(struct agent_regs))
		rc = registers_set_all(uc, (const struct agent_regs *)agent.payload);
	reply(rc, NULL, 0);
}

struct map_list {
	uint64_t skip;
	unsigned n;
};

static int add_map(const struct mapping *m, void *arg)
{
	struct map_list *list = arg;
	struct agent_map *to = (struct agent_map *)agent.answer + list->n;

	if (list->skip) {
		list->skip--;
		return 0;
	}
	if ((list->n + 1) * sizeof(*to) > READ_MAX)
		return 1;
	*to = (struct agent_map){.start = m->start, .end = m->end, .prot = (uint32_t)m->prot};
	list->n++;
	return 0;
}

static void maps(uint64_t from)
{
	struct map_list list = {.skip = from};
	int rc = arena_each(add_map, &list);

	if (rc < 0)
		reply(rc, NULL, 0);
	else
		reply(list.n, agent.answer, list.n * sizeof(struct agent_map));
}

static void threads(const ucontext_t *uc)
{
	static struct replica_thread_info info;
	struct agent_thread *list = (struct agent_thread *)agent.answer;
	unsigned n = 0;

	for (uint32_t t = 0; (t = replica_next_thread(t)) && (n + 1) * sizeof(*list) <= READ_MAX; n++) {
		replica_other_thread(t, &info);
		list[n] = (struct agent_thread){.number = t, .tid = info.tid, .state = info.state};
		list[n].pc = (uint64_t)(t == replica_thread() ? uc : &info.uc)->uc_mcontext.gregs[REG_RIP];
		memcpy(list[n].name, info.name, sizeof(info.name));
	}
	reply(n, list, n * sizeof(*list));
}

static void fork_replica(void)
{
	long pid;

	if (agent.passed_fd < 0) {
		reply(-EBADF, NULL, 0);
		return;
	}
	/* Not fork(): its handlers take locks of the C library, and this is a signal handler. */
	pid = raw_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	if (pid) {
		reply(pid, NULL, 0);
		return;
	}
	replica_forked();
	close(agent.sock);
	agent.sock = keep_high(agent.passed_fd);
	agent.passed_fd = -1;
	upper_close();
	if (upper_open())
		_exit(1);
	watch_forked();
	breakpoints_clear_all();
	output_keep(false);
}

static void trace(uint64_t step, uint64_t pc)
{
	const struct agent_gpr *part[2];
	unsigned count[2];
	struct iovec iov[2];

	if (pc) {
		reply(stepping_traced_at(pc, step, &step) ? (int64_t)step : -ENOENT, NULL, 0);
		return;
	}
	if (!stepping_trace(step, part, count)) {
		reply(-ENODATA, NULL, 0);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		iov[i] = (struct iovec){(void *)part[i], count[i] * sizeof(*part[i])};
	reply_parts(0, iov, 2);
}

static void reply_changes(void)
{
	const struct agent_change *list;
	unsigned n = changes(&list);

	reply(n, list, n * sizeof(*list));
}

static void fetch_output(void)
{
	struct agent_output piece;
	const void *bytes;

	if (!agent.rq.b) {
		output_keep(agent.rq.a);
		reply(0, NULL, 0);
	} else if (output_next(&piece, &bytes)) {
		struct iovec iov[2] = {{&piece, sizeof(piece)}, {(void *)bytes, piece.len}};

		reply_parts(1, iov, 2);
	} else {
		reply(0, NULL, 0);
	}
}

static void question(void)
{
	struct agent_asked asked;

	if (replica_asked(&asked))
		reply(0, &asked, sizeof(asked));
	else
		reply(-ENODATA, NULL, 0);
}

/* One request.  GO_ON: the program is to run; otherwise it has been answered. */
static enum verdict handle(ucontext_t *uc)
{
	const struct agent_request *rq = &agent.rq;
	uint64_t value[2];
	int rc;

	switch (rq->op) {
	case AGENT_HELLO: hello(); break;
	case AGENT_READ: read_memory(rq->a, rq->b, rq->c); break;
	case AGENT_WRITE: write_memory(rq->a, rq->len); break;
	case AGENT_GETREGS: get_registers(uc); break;
	case AGENT_SETREGS: set_registers(uc); break;
	case AGENT_BREAK: reply(breakpoints_set(rq->b, rq->a, rq->c, agent.payload, rq->len), NULL, 0); break;
	case AGENT_UNBREAK:
		rc = 0;
		if (rq->a == AGENT_FOREVER)
			breakpoints_clear_all();
		else
			rc = breakpoints_clear(rq->a);
		reply(rc, NULL, 0);
		break;
	case AGENT_WATCH: reply(watch_set(rq->b, rq->a, rq->c, rq->d), NULL, 0); break;
	case AGENT_UNWATCH:
		rc = 0;
		if (rq->a == AGENT_FOREVER)
			watch_clear_all();
		else
			rc = watch_clear(rq->a);
		reply(rc, NULL, 0);
		break;
	case AGENT_RUN: return stepping_run(uc, rq);
	case AGENT_STEP: return stepping_step(uc, rq);
	case AGENT_FORK: fork_replica(); break;
	case AGENT_HASH:
		value[0] = replica_hash(uc);
		reply(0, value, sizeof(value[0]));
		break;
	case AGENT_MAPS: maps(rq->a); break;
	case AGENT_COUNT:
		rc = breakpoints_count(rq->a, replica_event(), value);
		reply(rc, value, rc ? 0 : sizeof(value));
		break;
	case AGENT_OUTPUT: fetch_output(); break;
	case AGENT_THREADS: threads(uc); break;
	case AGENT_UNDO:
		value[0] = undo_log_first();
		reply(0, value, sizeof(value[0]));
		break;
	case AGENT_TRACE: trace(rq->a, rq->b); break;
	case AGENT_CHANGES: reply_changes(); break;
	case AGENT_ASKED: question(); break;
	case AGENT_SETTLE: reply(settle(), NULL, 0); break;
	case AGENT_EXIT: reply(0, NULL, 0); _exit(0);
	default: reply(-ENOSYS, NULL, 0);
	}
	return NOT_OURS;
}

/* Stopped: answers until the program is to run again. */
static void serve(ucontext_t *uc)
{
	for (;;) {
		enum verdict v;

		receive();
		v = handle(uc);
		if (v == GO_ON || v == HANDED)
			return;
		if (v == STOPPED)
			reply_stopped();
	}
}

static void after(enum verdict v, ucontext_t *uc)
{
	if (v != STOPPED)
		return;
	reply_stopped();
	serve(uc);
}

int agent_init(int socket_fd)
{
	/* Snapshots end on their own; nobody waits for them. */
	if (signal(SIGCHLD, SIG_IGN) == SIG_ERR)
		return -errno;
	agent.sock = keep_high(socket_fd);
	return upper_open();
}

void agent_started(ucontext_t *uc)
{
	serve(uc);
}

void agent_event(uint64_t event, ucontext_t *uc)
{
	output_event(event);
	after(stepping_event(event, uc), uc);
}

bool agent_sigtrap(siginfo_t *info, ucontext_t *uc)
{
	enum verdict v = stepping_trap(info, uc);

	after(v, uc);
	return v != NOT_OURS;
}

void agent_asked(void)
{
	stepping_asked();
}

void agent_switched(void)
{
	stepping_switched();
}

void agent_free_run(void)
{
	stepping_free_run();
}

void agent_remapped(uint64_t start, uint64_t end)
{
	stepping_remapped(start, end);
}

void agent_reprotected(uint64_t start, uint64_t end)
{
	watch_remapped(start, end);
}

void agent_hide(void)
{
	stepping_hide();
}

void agent_end(ucontext_t *uc, uint32_t end_kind, int32_t end_value)
{
	after(stepping_end(uc, AGENT_STOP_END, end_kind, end_value), uc);
	_exit(0); /* not reached: after the end every RUN and STEP is answered at once */
}

void agent_diverged(ucontext_t *uc, const char *text)
{
	agent.text_len = strnlen(text, sizeof(agent.text));
	memcpy(agent.text, text, agent.text_len);
	after(stepping_end(uc, AGENT_STOP_DIVERGED, 0, 0), uc);
	_exit(0);
}

bool agent_faulted(const siginfo_t *info, ucontext_t *uc)
{
	enum verdict v = stepping_guarded(info, uc);

	after(v, uc);
	return v != NOT_OURS || stepping_displaced(uc);
}

void agent_leaves(void)
{
	stepping_leaves();
}

void agent_fault(int signal, siginfo_t *info, ucontext_t *uc)
{
	after(stepping_fault(signal, (uint64_t)info->si_addr, uc), uc);
}

void agent_interrupt(siginfo_t *info, ucontext_t *uc)
{
	after(stepping_interrupt(uc), uc);
}

void agent_look(ucontext_t *uc)
{
	uint64_t spent_ns;

	if (stepping_missed(uc, &spent_ns))
		replica_mark_missed(uc, spent_ns);
}

void agent_output(int fd, const void *upper, uint64_t len)
{
	output_written(fd, upper, len);
}
