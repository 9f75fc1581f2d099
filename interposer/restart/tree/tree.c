#include "restart/tree/tree.h"
#include "text/traps.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/seccomp.h"
#include "restart/process/attributes.h"
#include "restart/process/identity_logged.h"
#include "restart/files/file_locks.h"
#include "restart/base/cut.h"
#include "restart/base/launcher_fd.h"
#include "restart/copies/mapped_files.h"
#include "restart/base/open_table.h"
#include "restart/memory/shared_again.h"
#include "restart/tree/tree_born.h"
#include "restart/base/tree_fds.h"
#include "restart/sockets/socket_streams.h"
#include "restart/tree/tree_share.h"
#include "restart/tree/tree_sockets.h"
#include "restart/base/streams.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "answer/process.h"
#include "replay/replay.h"
#include "task/signal_frame.h"
#include "task/signal_queue.h"
#include "task/signals.h"
#include "task/thread.h"

enum { WORDS = 4096, LOOK_NAPS = 100, NAP_NS = 1000000, STATE_MAGIC_TREE = 0x74726565 };

extern char **environ;

struct inherited {
	uint32_t magic, size;
	uint64_t base; /* open_table's address in the writer; 0: the reader has a list of its own (tree_born.h) */
	struct tree_fds fds;
};

/* A child that was made, and its state at the cut. */
struct made {
	pid_t pid;
	unsigned number;
	enum { LIVES, ENDED_THERE, GHOST } kind;
	int status;
	bool tell; /* SIGCHLD has not come yet */
};

static struct {
	unsigned number; /* of this process */
	struct made *made;
	unsigned n;
} own;

static char *words; /* of the file read last */

static void born(void);

/* Reads the strings of a file of the plan.  Returns their number; 0: there is no such file. */
static unsigned read_words(const char *what, const char **v, unsigned room)
{
	char path[4096];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s-%s", lower.opt.tree, lower.opt.process, what);
	int fd = descriptor_open(AT_FDCWD, path, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	free(words);
	words = fstat(fd, &st) ? NULL : malloc((size_t)st.st_size + 1);
	if (!words || io_read_all(fd, words, (size_t)st.st_size))
		live_refuse("%s cannot be read", path);
	close(fd);
	words[st.st_size] = 0;
	unsigned n = 0;
	for (char *at = words; at < words + st.st_size && n < room; at += strlen(at) + 1)
		v[n++] = at;
	return n;
}

int tree_begin(void)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/pids", lower.opt.tree) >= sizeof(path))
		return -ENAMETOOLONG;
	int rc = pids_open(strdup(path));
	if (rc)
		return rc;
	own.number = tree_process();
	if (lower.opt.inherit <= 0)
		attributes_begin();
	rc = private_mkdir(lower.opt.branch);
	if (rc)
		return rc;
	if (own.number >= pids()->n)
		return -EBADMSG;
	pids()->list[own.number].now = lower.pid;
	born();
	shared_again_begin();
	return 0;
}

/* ---- from one program to another ---- */

static int state_file(bool table)
{
	static struct inherited head;
	int fd = memfd_create("rdb-open-files", MFD_CLOEXEC);
	head = (struct inherited){.magic = STATE_MAGIC_TREE, .size = sizeof(open_table)};
	head.base = table ? (uint64_t)&open_table : 0;
	head.fds = tree_fds;
	if (fd < 0 || write(fd, &head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    write(fd, &open_table, sizeof(open_table)) != (ssize_t)sizeof(open_table) ||
	    (table && (!sockets_hand_on(fd) || !mapped_files_hand_on(fd) || !attributes_hand_on(fd) ||
		       !identity_logged_hand_on(fd) || !file_locks_hand_on(fd))) ||
	    lseek(fd, 0, SEEK_SET))
		live_refuse("its open files cannot be passed to the next process: %s", strerror(errno));
	return fd;
}

static struct opened *moved_to(struct opened *f, uint64_t base)
{
	return f ? (struct opened *)((char *)&open_table + ((uint64_t)f - base)) : NULL;
}

static struct inherited given;

static void read_given(void)
{
	const int fd = lower.opt.inherit;
	if (fd <= 0 || given.magic)
		return;
	if (io_read_all(fd, &given, sizeof(given)) || given.magic != STATE_MAGIC_TREE ||
	    given.size != sizeof(open_table) || (given.base && io_read_all(fd, &open_table, sizeof(open_table))) ||
	    (given.base && (!sockets_inherit(fd) || !mapped_files_inherit(fd) || !attributes_inherit(fd) ||
			    !identity_logged_inherit(fd) || !file_locks_inherit(fd))))
		live_refuse("the files that it had open at its start cannot be read");
	close(fd);
	open_table.begun = false;
	tree_fds = given.fds;
}

bool tree_inherited(void)
{
	read_given();
	if (!given.base)
		return false;
	for (unsigned i = 0; i < NUMBERS; i++)
		open_table.number[i].file = moved_to(open_table.number[i].file, given.base);
	for (unsigned i = 0; i < open_table.nwatched; i++) {
		open_table.watched[i].set = moved_to(open_table.watched[i].set, given.base);
		open_table.watched[i].file = moved_to(open_table.watched[i].file, given.base);
	}
	memset(open_table.pipes, 0, sizeof(open_table.pipes));
	return true;
}

/* Does not return. */
static void become(const char **rest, unsigned n, bool table)
{
	const char *v[WORDS + 8];
	char inherit[16];
	sigset_t none;
	unsigned k = 0;
	int fd = state_file(table);
	snprintf(inherit, sizeof(inherit), "%d", fd);
	v[k++] = "rdb-exec";
	v[k++] = "--inherit";
	v[k++] = inherit;
	v[k++] = "--dispatch";
	v[k++] = seccomp_in_use() ? "inherited" : "sud";
	for (unsigned i = 0; i < n; i++)
		v[k++] = rest[i];
	v[k] = NULL;
	fcntl(fd, F_SETFD, 0);
	tree_fds_keep();
	mapped_files_keep();
	launcher_fd_keep();
	traps_set(false);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve("/proc/self/exe", (char *const *)v, environ);
	live_refuse("it cannot be started: %s", strerror(errno));
}

/* ---- children ---- */

static void make(const char **v, unsigned n, long sends, bool table);

static void end(unsigned number, int status) __attribute__((noreturn));

static void end(unsigned number, int status)
{
	const struct rlimit no_core = {0};
	__atomic_store_n(&pids()->list[number].state, TREE_ENDED, __ATOMIC_SEQ_CST);
	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(WTERMSIG(status), SIG_DFL);
		raw_syscall(SYS_kill, lower.pid, WTERMSIG(status), 0, 0, 0, 0);
	}
	_exit(WEXITSTATUS(status));
}

static void remember(pid_t pid, unsigned number, const char *how, int status, bool tell)
{
	own.made = realloc(own.made, (own.n + 1) * sizeof(*own.made));
	if (!own.made)
		live_refuse("out of memory for its child processes");
	own.made[own.n++] = (struct made){
		.pid = pid,
		.number = number,
		.kind = *how == 'l'   ? LIVES
			: *how == 'g' ? GHOST
				      : ENDED_THERE,
		.status = status,
		.tell = tell,
	};
}

/* The file: the child's number in the list of processes; its kind; its status and whether SIGCHLD is still to come; its
 * command line.  Kinds: `lives`; `ended`; `zombie`: ended, but what it did to open files that others still have counts;
 * `ghost`: the same, and it was waited for; `orphan`: its parent ends before the cut. */
void tree_forked(const struct event *ev)
{
	const char *v[WORDS];
	char event[32];
	snprintf(event, sizeof(event), "%lu", (unsigned long)replay_record()->event);
	unsigned n = read_words(event, v, WORDS);
	if (n < 4)
		return;
	tree_share();
	make(v, n, (long)process_clone_request(ev).exit_signal, true);
}

static void make(const char **v, unsigned n, long sends, bool table)
{
	const unsigned number = (unsigned)atoi(v[0]);
	if (number >= pids()->n)
		live_refuse("its restart plan is damaged");
	const bool orphan = *v[1] == 'o';
	sends = *v[1] == 'g' ? 0 : sends;
	const pid_t parent = lower.pid;
	long pid = raw_syscall(SYS_clone, sends, 0, 0, 0, 0, 0);
	if (pid < 0)
		live_refuse("a child process cannot be made: %s", strerror((int)-pid));
	if (pid == 0) {
		lower.pid = (pid_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
		if (!orphan)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!orphan && raw_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0) != parent)
			_exit(125);
		if (*v[1] == 'e')
			end(number, atoi(v[2]));
		tree_share_in_child();
		attributes_in_child();
		file_locks_in_child();
		become(v + 4, n - 4, table);
	}
	if (table) {
		pids()->list[number].group = pids()->list[own.number].group;
		pids()->list[number].session = pids()->list[own.number].session;
	}
	pids()->list[number].now = (int32_t)pid;
	if (!orphan)
		remember((pid_t)pid, number, v[1], atoi(v[2]), *v[3] == '1');
}

/* Before a branch is replayed: makes what its processes shared when it began, and the children that it had. */
static void born(void)
{
	const char *v[WORDS];
	char name[32];
	unsigned n = read_words("session", v, 1);
	int before = n ? atoi(v[0]) : -1; /* number of children that are made before setsid(2) */
	read_given();
	if (!own.number && !lower.opt.inherit)
		tree_born_make();
	for (int i = 0;; i++) {
		if (i == before && raw_syscall(SYS_setsid, 0, 0, 0, 0, 0, 0) < 0)
			live_refuse("its session cannot be made again");
		snprintf(name, sizeof(name), "begin-%d", i);
		n = read_words(name, v, WORDS);
		if (n < 4)
			return;
		make(v, n, SIGCHLD, false);
	}
}

void tree_grouped(const struct event *ev)
{
	struct pid_entry *self = &pids()->list[own.number], *of = self;
	if (ev->nr == SYS_setsid) {
		long rc = raw_syscall(SYS_setsid, 0, 0, 0, 0, 0, 0);
		if (rc < 0)
			live_refuse("its session cannot be made again: %s", strerror((int)-rc));
		self->group = self->session = self->known;
	} else if (ev->nr == SYS_setpgid) {
		for (uint32_t i = 0; ev->args[0] && i < pids()->n; i++)
			if (pids()->list[i].known == (int32_t)ev->args[0])
				of = &pids()->list[i];
		if (!ev->args[0] || of->known == (int32_t)ev->args[0])
			of->group = ev->args[1] ? (int32_t)ev->args[1] : of->known;
	}
}

static void next(void)
{
	const char *v[WORDS];
	unsigned n = read_words("next", v, WORDS);
	if (!n)
		return;
	mapped_files_gone();
	tree_share();
	for (unsigned fd = 0; fd < NUMBERS; fd++)
		if (open_table.number[fd].file && open_table.number[fd].cloexec)
			open_drop(fd);
	streams_tell();
	become(v, n, true);
}

/* ---- the cut ---- */

/* A process that has ended before the cut ends as it did. */
static void end_as_recorded(void)
{
	const char *v[1];
	if (read_words("end", v, 1) < 1)
		return;
	tree_sockets_tell(true);
	end(own.number, atoi(v[0]));
}

/* Waits for the children that ended before the cut; those that were waited for are removed. */
static void await_ended(void)
{
	for (unsigned i = 0; i < own.n; i++) {
		struct made *m = &own.made[i];
		siginfo_t info;
		int status;
		if (m->kind == LIVES)
			continue;
		raw_syscall(SYS_waitid, P_PID, m->pid, (long)&info, WEXITED | WNOWAIT | __WALL, 0, 0);
		if (__atomic_load_n(&pids()->list[m->number].state, __ATOMIC_SEQ_CST) != TREE_ENDED)
			live_refuse("a child process that had ended cannot be replayed");
		if (m->kind == GHOST)
			raw_syscall(SYS_wait4, m->pid, (long)&status, __WALL, 0, 0, 0);
	}
}

/* The recordings of processes that outlived their parents are below this one's, which counts them as its children. */
static void adopt(void)
{
	const char *v[1];
	const int n = read_words("adopts", v, 1) ? atoi(v[0]) : 0;
	if (n)
		tree_children_load();
	for (int i = 0; i < n; i++)
		process_child_counted();
}

void tree_at_end(void)
{
	open_table_begin(); /* the table has what a branch began with */
	next();
	streams_tell();
	await_ended();
	end_as_recorded();
	adopt();
}

static bool is_gone(const struct pid_entry *one)
{
	return one->now && raw_syscall(SYS_kill, one->now, 0, 0, 0, 0, 0) == -ESRCH;
}

/* Refuses if a process whose parent has ended is gone without a word; ends if the first process, which all depend on,
 * is gone. */
static void look_for_others(uint32_t state)
{
	const struct pids *p = pids();
	for (uint32_t i = 1; !own.number && i < p->n; i++)
		if (is_gone(&p->list[i]) && __atomic_load_n(&p->list[i].state, __ATOMIC_SEQ_CST) < state)
			tree_refused();
	if (own.number && is_gone(&p->list[0]))
		_exit(125);
}

/* Refuses if a child that should live is gone without a word. */
static void look_for_children(void)
{
	for (unsigned i = 0; i < own.n; i++) {
		siginfo_t info = {0};
		if (own.made[i].kind == LIVES &&
		    !raw_syscall(SYS_waitid, P_PID, own.made[i].pid, (long)&info, WEXITED | WNOHANG | WNOWAIT, 0, 0) &&
		    info.si_pid)
			tree_refused();
	}
}

/* Makes process groups again, leaders first. */
static void group_again(bool lead)
{
	const struct pid_entry *self = &pids()->list[own.number];
	if (!self->group || lead != (self->group == self->known))
		return;
	const pid_t leader = lead ? lower.pid : (pid_t)pid_now((uint64_t)self->group);
	if (raw_syscall(SYS_getpgid, 0, 0, 0, 0, 0, 0) == leader)
		return;
	long rc = raw_syscall(SYS_setpgid, 0, leader, 0, 0, 0, 0);
	if (rc)
		live_refuse("its process group %d cannot be made again: %s", self->group, strerror((int)-rc));
}

static void await_all(uint32_t state)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	const struct pids *p = pids();
	__atomic_store_n(&pids()->list[own.number].state, state, __ATOMIC_SEQ_CST);
	for (unsigned i = 0, turn = 0; i < p->n;) {
		if (tree_is_refused())
			_exit(125);
		if (__atomic_load_n(&p->list[i].state, __ATOMIC_SEQ_CST) >= state) {
			i++;
			continue;
		}
		raw_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
		if (++turn % LOOK_NAPS == 0) {
			look_for_children();
			look_for_others(state);
		}
	}
}

void tree_at_cut(void)
{
	tree_share_modes();
	tree_sockets_tell(false);
	shared_again_tell();
	group_again(true);
	await_all(TREE_AT_CUT);
	group_again(false);
	tree_share_fill();
	tree_sockets_make();
	await_all(TREE_FILLED);
	shared_again_make(); /* what is mapped of a file is newer than what was written to it */
	await_all(TREE_SHARED);
	mapped_files_named();
	mapped_files_save();
	tree_born_save();
	shared_again_map();
	tree_share_close();
}

void tree_opened(void)
{
	await_all(TREE_OPENED);
	shared_again_mapped();
}

void tree_go(void)
{
	prctl(PR_SET_PDEATHSIG, 0);
	await_all(TREE_LIVE);
	for (unsigned i = 0; i < own.n; i++) {
		const struct made *m = &own.made[i];
		siginfo_t info = {.si_signo = SIGCHLD, .si_code = WIFSIGNALED(m->status) ? CLD_KILLED : CLD_EXITED};
		if (!m->tell || !(signals_has_handler(SIGCHLD) || (thread_self()->upper.sigmask & BIT(SIGCHLD))))
			continue;
		info.si_pid = pids()->list[m->number].known;
		info.si_uid = getuid();
		info.si_status = WIFSIGNALED(m->status) ? WTERMSIG(m->status) : WEXITSTATUS(m->status);
		signal_keep(SIGCHLD, &info, NULL);
	}
	signal_to_kernel(signals_wait_in_kernel() & thread_self()->upper.sigmask);
}
