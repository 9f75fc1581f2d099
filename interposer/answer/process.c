#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/registers.h"
#include "crossing/arrivals.h"
#include "crossing/boundary.h"
#include "crossing/ending.h"
#include "crossing/filters.h"
#include "base/user.h"
#include "crossing/piling.h"
#include "space/floors.h"
#include "space/followed.h"
#include "space/rank_files.h"
#include "task/envoy.h"
#include "space/device_memory.h"
#include "image/image.h"
#include "answer/fork_advice.h"
#include "answer/other_names.h"
#include "log/log_writer.h"
#include "answer/memory_calls.h"
#include "answer/limits.h"
#include "log/meta.h"
#include "base/handed_on.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "space/cautions.h"
#include "answer/process.h"
#include "answer/program.h"
#include "answer/syscall_inputs.h"
#include "answer/undo.h"
#include "answer/redirect.h"
#include "base/descriptor_table.h"
#include "base/descriptors.h"
#include "answer/linker_variables.h"
#include "base/seccomp.h"
#include "space/shared_turns.h"
#include "task/signal_frame.h"
#include "task/signals.h"
#include "task/thread.h"
#include "answer/vfork.h"
#include "text/traps.h"

#define A(i) (ev->args[i])

#define USER_END 0x7ffffffff000ul /* TASK_SIZE_MAX */

enum { OPTIONS = 2 * OPTIONS_MOST + 16 };

static unsigned children;
static char own_dir[4096]; /* storage for opt.dir of a child */

/* Reads struct clone_args, which may be larger than ours, as the kernel does (copy_struct_from_user). 0 or -errno. */
static long clone_args(const struct event *ev, struct clone_args *c)
{
	const uint64_t from = A(0), size = A(1), known = size < sizeof(*c) ? size : sizeof(*c);
	char byte;
	if (size > RDB_PAGE)
		return -E2BIG;
	if (size < CLONE_ARGS_SIZE_VER0)
		return -EINVAL;
	memset(c, 0, sizeof(*c));
	for (uint64_t at = from + known; at < from + size; at++)
		if (user_read(&byte, at, 1))
			return -EFAULT;
		else if (byte)
			return -E2BIG;
	return user_read(c, from, known);
}

/* Checks that the kernel makes (clone3_args_valid and copy_process in kernel/fork.c). 0 or -errno. */
static long clone_refused(const struct event *ev)
{
	struct clone_args c = {.flags = ev->nr == SYS_clone ? A(0) & UINT32_MAX & ~(uint64_t)CSIGNAL : 0};
	if (ev->nr == SYS_clone3) {
		const long rc = clone_args(ev, &c);
		if (rc)
			return rc;
		const uint64_t known = 0xffffffff | CLONE_CLEAR_SIGHAND | CLONE_INTO_CGROUP;
		if (c.set_tid_size > 32 || !c.set_tid != !c.set_tid_size || c.exit_signal > _NSIG - 1 ||
		    (c.flags & CLONE_INTO_CGROUP && (c.cgroup > INT32_MAX || A(1) < CLONE_ARGS_SIZE_VER2)) ||
		    c.flags & ~known || c.flags & (CLONE_DETACHED | (CSIGNAL & ~CLONE_NEWTIME)) ||
		    (c.flags & CLONE_SIGHAND && c.flags & CLONE_CLEAR_SIGHAND) ||
		    (c.flags & (CLONE_THREAD | CLONE_PARENT) && c.exit_signal) || !c.stack != !c.stack_size ||
		    c.stack_size > USER_END || c.stack > USER_END - c.stack_size)
			return -EINVAL;
	}
	if (c.flags & CLONE_PIDFD &&
	    (c.flags & CLONE_DETACHED || (c.flags & CLONE_PARENT_SETTID && c.pidfd == c.parent_tid)))
		return -EINVAL;
	if ((c.flags & CLONE_FS && c.flags & (CLONE_NEWNS | CLONE_NEWUSER)) ||
	    (c.flags & CLONE_THREAD && !(c.flags & CLONE_SIGHAND)) ||
	    (c.flags & CLONE_SIGHAND && !(c.flags & CLONE_VM)) || (c.flags & CLONE_NEWIPC && c.flags & CLONE_SYSVSEM) ||
	    (c.flags & CLONE_THREAD && c.flags & (CLONE_NEWUSER | CLONE_NEWPID)))
		return -EINVAL;
	return 0;
}

/* clone(2): the arguments of the raw calls; clone3 takes struct clone_args */
struct clone_request process_clone_request(const struct event *ev)
{
	struct clone_request r = {0};
	if (ev->nr == SYS_clone) {
		r = (struct clone_request){.flags = A(0) & UINT32_MAX & ~(uint64_t)CSIGNAL,
					   .exit_signal = A(0) & CSIGNAL,
					   .stack = A(1),
					   .parent_tid = A(2),
					   .child_tid = A(3),
					   .tls = A(4),
					   .pidfd = A(2)};
	} else if (ev->nr == SYS_clone3) {
		struct clone_args c;
		if (clone_args(ev, &c) == 0)
			r = (struct clone_request){c.flags,      c.exit_signal, c.stack ? c.stack + c.stack_size : 0,
						   c.parent_tid, c.child_tid,   c.tls,
						   c.pidfd,      c.set_tid,     c.set_tid_size,
						   c.cgroup};
	} else {
		r.exit_signal = SIGCHLD;
		r.flags = ev->nr == SYS_vfork ? CLONE_VFORK | CLONE_VM : 0;
	}
	return r;
}

bool process_forks(const struct event *ev)
{
	const bool clones = ev->nr == SYS_clone || ev->nr == SYS_clone3;
	return ev->nr == SYS_fork || ev->nr == SYS_vfork ||
	       (clones && !(process_clone_request(ev).flags & CLONE_THREAD));
}

void process_child_counted(void)
{
	children++;
}

unsigned process_children(void)
{
	return children;
}

void process_children_from(unsigned before)
{
	children = before;
}

/* Starts the child's own recording.  Messages on stderr carry its pid. */
static void begin_recording(ucontext_t *uc, unsigned number)
{
	char dir[4096];
	if ((size_t)snprintf(dir, sizeof(dir), "%s/child-%u", lower.opt.dir, number) >= sizeof(dir))
		rdb_fatal("%s: too long a path: the processes are nested too deep", lower.opt.dir);
	strcpy(own_dir, dir);
	lower.opt.dir = own_dir;
	children = 0;
	lower.event = 0;
	piling_begin();
	int rc = private_mkdir(dir);
	if (!rc)
		rc = log_reopen(dir);
	if (rc) {
		rdb_warn("%s: %s: child %d goes on unrecorded", dir, strerror(-rc), lower.pid);
		mode_switch(&mode_pass);
		return;
	}
	meta_log(lower.upper.exe);
	meta_log_files();
	device_memory_in_child();
	if (shared_forked())
		envoy_begin(0);
	shared_in_child();
	followed_in_child();
	boundary_begin(uc);
}

static void become_child(const struct clone_request *r, ucontext_t *uc, unsigned number)
{
	lower.pid = (pid_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	lower.clocks.self = lower.clocks.children = (struct processor_time){0};
	thread_self()->processor_ahead = 0;
	int rc = lower.opt.no_children ? 0 : boundary_dispatch_on();
	if (rc)
		rdb_fatal("child %d: cannot intercept system calls: %s", lower.pid, strerror(-rc));
	const int32_t told = pid_known(lower.pid);
	if (r->flags & CLONE_CHILD_SETTID)
		/* failure is ignored, as in the kernel */
		(void)user_write(r->child_tid, &told, sizeof(told));
	if (r->flags & CLONE_CLEAR_SIGHAND)
		signals_clear_handlers();
	if (r->flags & CLONE_SETTLS)
		thread_self()->upper.tls = r->tls;
	if (r->stack)
		UC_SP(uc) = r->stack;
	if (!(r->flags & CLONE_VM))
		fork_advice_in_child();
	thread_self()->upper.clear_child_tid = r->flags & CLONE_CHILD_CLEARTID ? r->child_tid : 0;
	UC_RESULT(uc) = 0;
	descriptor_table_in_child();
	envoy_forked();
	boundary_forget();
	if (lower.mode->forked)
		lower.mode->forked();
	if (lower.opt.no_children) {
		undo_unseen();
		traps_set(false); /* else the counter would also trap in programs that it executes */
		lower.upper.traps = 0;
		seccomp_leave();
		limits_leave();
		lower.ended = true;
		mode_switch(&mode_pass);
		rc = filters_to_kernel(thread_self()->upper.filter);
		if (rc)
			rdb_fatal("child %d: its filters (seccomp) cannot be set: %s", lower.pid, strerror(-rc));
	} else if (recording()) {
		begin_recording(uc, number);
	}
}

/* Flags passed on to the kernel, although the child is always a copy. */
static const uint64_t PASSED = CLONE_FS | CLONE_PARENT | CLONE_IO | CLONE_SYSVSEM | CLONE_PIDFD | CLONE_NEWNS |
			       CLONE_NEWUSER | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP |
			       CLONE_NEWTIME | CLONE_NEWPID | CLONE_INTO_CGROUP;

/* clone(2): under rdb a child always has its own memory, descriptors and handlers.  Says so once for each kind. */
static void say_what_is_not_shared(uint64_t flags)
{
	static uint64_t said;
	static const struct {
		uint64_t flag;
		const char *what;
	} rows[] = {{CLONE_VM, "shares the caller's memory"},
		    {CLONE_FILES, "shares the caller's descriptors"},
		    {CLONE_SIGHAND, "shares the caller's signal handlers"}};
	if (!(flags & CLONE_VFORK) && flags & CLONE_VM)
		flags &= ~(uint64_t)CLONE_SIGHAND; /* said with the memory */
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (flags & rows[i].flag && !(rows[i].flag == CLONE_VM && flags & CLONE_VFORK) &&
		    !(said & rows[i].flag)) {
			said |= rows[i].flag;
			caution("the program makes a process that %s: under rdb that process is a copy, as after "
				"fork(2), and the two may behave differently than without rdb",
				rows[i].what);
		}
}

/* A leak checker's (StopTheWorld of compiler-rt): nobody may trace it, and it traces its parent, with which it shares
 * all but signals. */
static bool is_tracer(uint64_t flags)
{
	const uint64_t shares = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED;
	return (flags & (shares | CLONE_SIGHAND | CLONE_VFORK)) == shares;
}

static void refused_tracer(void)
{
	static bool said;
	if (!said)
		caution("clone with CLONE_VM and CLONE_UNTRACED cannot be recorded: it fails with \"%s\", because no "
			"process can trace the program; LeakSanitizer ends without an answer then, unless "
			"ASAN_OPTIONS (or LSAN_OPTIONS) has detect_leaks=0",
			strerror(EPERM));
	said = true;
}

/* Uses the call that the program made: the other may be forbidden (seccomp), and lacks some arguments. */
static long make_child(const struct event *ev, const struct clone_request *r)
{
	const uint64_t flags = r->flags & PASSED, pidfd = flags & CLONE_PIDFD ? r->pidfd : 0;
	struct clone_args c = {.flags = flags,
			       .pidfd = pidfd,
			       .exit_signal = r->exit_signal,
			       .set_tid = r->set_tid,
			       .set_tid_size = r->set_tid_size,
			       .cgroup = r->cgroup};
	if (ev->nr == SYS_clone3)
		return raw_syscall(SYS_clone3, (long)&c, sizeof(c), 0, 0, 0, 0);
	return raw_syscall(SYS_clone, (long)(flags | r->exit_signal), 0, (long)pidfd, 0, 0, 0);
}

/* As in lower_block_signals(). */
static const uint64_t FAULTS = BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE);

long process_fork(struct event *ev, ucontext_t *uc, bool *in_child)
{
	const struct clone_request r = process_clone_request(ev);
	const bool waits = r.flags & CLONE_VFORK;
	int ends[2];
	*in_child = false;
	const long refused = clone_refused(ev);
	if (refused)
		return refused;
	if (r.flags & CLONE_THREAD)
		return thread_clone(ev, uc, &r);
	if (is_tracer(r.flags)) {
		refused_tracer();
		return -EPERM;
	}
	int rc = waits ? vfork_open(ends) : 0;
	if (rc)
		return rc;
	unsigned number = ++children;
	shared_before_fork();
	rank_files_before_fork();
	if (recording() && lower.started && shared_keys_due())
		envoy_begin(0);
	sigset_t mask;
	lower_block_signals(&mask);
	host_fork_begin();
	/* No fault is between these two calls.  One that is sent to the child must not be forgotten with the parent's. */
	raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&FAULTS, 0, 8, 0, 0);
	const long pid = make_child(ev, &r);
	if (pid == 0) {
		signals_forget();
		ending_waits(true);
	}
	raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&FAULTS, 0, 8, 0, 0);
	if (pid == 0) {
		*in_child = true;
		if (waits)
			vfork_child(ends, r.flags & CLONE_VM);
		else
			vfork_forget();
		become_child(&r, uc, number);
		ending_waits(false);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return 0;
	}
	if (pid > 0 && lower.shares && !lower.opt.no_children)
		floors_expect((uint32_t)pid);
	host_fork_end();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (waits)
		vfork_wait(ends, ev);
	if (pid > 0)
		say_what_is_not_shared(r.flags);
	if (pid > 0 && r.flags & CLONE_PIDFD)
		event_out(ev, (void *)r.pidfd, sizeof(int));
	const pid_t told = pid_known((pid_t)pid);
	if (pid > 0 && r.flags & CLONE_PARENT_SETTID && !user_write(r.parent_tid, &told, sizeof(told)))
		event_out(ev, (void *)r.parent_tid, sizeof(told));
	return pid > 0 ? told : pid;
}

static unsigned add_option(const char **v, unsigned n, const char *name, const char *value)
{
	if (value) {
		v[n++] = name;
		v[n++] = value;
	}
	return n;
}

/* The memory that execve(2) gives arguments and environment: bprm_stack_limits() of the kernel.  0 or -E2BIG. */
static long too_big(const char *const *words, char *const *variables)
{
	struct rlimit stack;
	size_t room = 6 << 20, least = 128 << 10, longest = 128 << 10, used = 0;
	if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur / 4 < room)
		room = stack.rlim_cur / 4;
	const char *const *const lists[] = {words, (const char *const *)variables};
	for (unsigned k = 0; k < 2; k++)
		for (const char *const *word = lists[k]; word && *word; word++) {
			const size_t len = strlen(*word) + 1;
			if (len > longest)
				return -E2BIG;
			used += len + sizeof(*word);
		}
	return used > (room > least ? room : least) ? -E2BIG : 0;
}

/* The name by which the kernel calls the program: AT_EXECFN, and the argument that a script's interpreter gets. */
static const char *called(int dir, const char *path)
{
	static char name[4096 + 32];
	if (dir == AT_FDCWD || path[0] == '/')
		return path;
	snprintf(name, sizeof(name), "/dev/fd/%d%s%s", dir, *path ? "/" : "", path);
	return name;
}

struct words {
	const char **v;
	size_t size; /* bytes */
	const char *name, *descriptor;
	char *const *argv;
	size_t argc;
};

/* The command line of the next rdb-exec. */
static void fill(const struct words *w, bool record, const char *dir)
{
	static struct handed_on handed_on;
	const char **v = w->v;
	unsigned n = 0;
	v[n++] = "rdb-exec";
	n = add_option(v, n, "--dir", record ? dir : lower.opt.dir);
	n = add_option(v, n, "--exe", w->name);
	n = add_option(v, n, "--exe-fd", w->descriptor);
	n = add_option(v, n, "--record",
		       record           ? (lower.opt.order  ? "order"
					   : lower.opt.lean ? "lean"
							    : "full")
		       : coordinating() ? "checkpoints"
					: "off");
	const unsigned handed = options_hand_on(TO_EXEC, &handed_on);
	memcpy(v + n, handed_on.words, handed * sizeof(*v));
	n += handed;
	v[n++] = "--";
	memcpy(v + n, w->argv, w->argc * sizeof(*v));
	if (!w->argc)
		v[n] = ""; /* as the kernel does */
}

/* Replaces the program.  Returns only -errno, with nothing changed. */
static long replace(const struct words *w, char *const *variables, int program)
{
	static char dir[4096];
	const bool record = recording();
	if (snprintf(dir, sizeof(dir), "%s/exec", lower.opt.dir) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	fill(w, record, dir);
	const long rc = too_big(w->v, variables);
	if (rc)
		return rc;
	int made = record ? private_mkdir(dir) : 0;
	if (!made && (record || lower.opt.board))
		made = other_names->hand_on(record ? dir : lower.opt.dir);
	if (made && !record) {
		rdb_warn("%s: %s: %s does not find the copies that the branch has of files", lower.opt.dir,
			 strerror(-made), w->name);
	} else if (made) {
		rdb_warn("%s: %s: %s runs unrecorded", dir, strerror(-made), w->name);
		fill(w, false, dir);
	}
	sigset_t before;
	lower_block_signals(&before); /* they stay blocked until the new rdb-exec can handle them */
	boundary_final_hash();
	boundary_end(LOG_END_EXEC, 0, redirect_self(AT_FDCWD, w->name) ? lower.upper.exe : w->name);
	traps_set(false);
	signals_before_exec();
	fcntl(program, F_SETFD, 0);
	raw_syscall(SYS_execve, (long)"/proc/self/exe", (long)w->v, (long)variables, 0, 0, 0);
	rdb_fatal("%s: cannot be started: %s", w->name, strerror(errno));
}

long process_exec_unreadable(const struct event *ev)
{
	const bool at = ev->nr == SYS_execveat;
	const int from = at ? (int)A(0) : AT_FDCWD;
	const char *path = (const char *)A(at);
	/* before Linux 6.9 the kernel counted the strings before it opened the file */
	if (!path || !syscall_string_there(A(at)) || !program_can_check())
		return -EFAULT;
	const long rc = program_check(from, redirect_self(from, path) ? redirect_exe() : path, (char *const *)A(1 + at),
				      (char *const *)A(2 + at), at ? (int)A(4) : 0);
	return rc < 0 ? rc : -EFAULT;
}

long process_exec(struct event *ev, const uint64_t a[6])
{
	char descriptor[16];
	const bool at = ev->nr == SYS_execveat;
	const int from = at ? (int)A(0) : AT_FDCWD;
	const char *path = (const char *)a[at ? 1 : 0];
	char *const *envp = (char *const *)a[at ? 3 : 2];
	if (!path)
		return -EFAULT;
	if (seccomp_left())
		return raw_syscall((long)ev->nr, (long)A(0), (long)A(1), (long)A(2), (long)A(3), (long)A(4), 0);
	if (at && A(4) & PROGRAM_CHECK)
		return program_check(from, redirect_self(from, path) ? redirect_exe() : path, (char *const *)A(2), envp,
				     (int)A(4));
	struct words w = {.name = called(from, path), .descriptor = descriptor, .argv = (char *const *)a[at ? 2 : 1]};
	const int program = program_open(from, redirect_self(from, path) ? redirect_exe() : path, at ? (int)A(4) : 0);
	if (program < 0)
		return program;
	snprintf(descriptor, sizeof(descriptor), "%d", program);
	long rc = program_can_run(program, w.name != path && fcntl(from, F_GETFD) & FD_CLOEXEC);
	while (!rc && w.argv && w.argv[w.argc])
		w.argc++;
	size_t hidden = 0;
	char **variables = NULL;
	if (!rc) {
		w.size = (w.argc + OPTIONS) * sizeof(*w.v);
		w.v = mmap(NULL, w.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		variables = linker_variables_hidden(envp, &hidden);
		rc = w.v == MAP_FAILED || !variables ? -ENOMEM : replace(&w, variables, program);
		if (w.v != MAP_FAILED)
			munmap(w.v, w.size);
		if (variables)
			munmap(variables, hidden);
	}
	lower_fd_close(program);
	return rc;
}
