#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "crossing/arrivals.h"
#include "crossing/boundary.h"
#include "base/user.h"
#include "crossing/piling.h"
#include "base/cpu_features.h"
#include "space/device_memory.h"
#include "image/image.h"
#include "answer/other_names.h"
#include "log/log_writer.h"
#include "answer/memory_calls.h"
#include "log/meta.h"
#include "base/handed_on.h"
#include "base/pids.h"
#include "base/private_file.h"
#include "space/cautions.h"
#include "answer/process.h"
#include "answer/linker_variables.h"
#include "base/seccomp.h"
#include "space/shared_memory.h"
#include "task/signals.h"
#include "task/thread.h"
#include "answer/vfork.h"
#include "text/traps.h"

#define A(i) (ev->args[i])

enum { ARGS_MAX = 65536, OPTIONS = 2 * OPTIONS_MOST + 16 };

static unsigned children;
static char own_dir[4096]; /* of a child: opt.dir points here */

/* What the kernel does with a structure that may be of a newer one (copy_struct_from_user): 0 or -errno. */
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

/* What the kernel refuses by itself (clone3_args_valid and copy_process in kernel/fork.c): 0 or -errno. */
static long clone_refused(const struct event *ev)
{
	struct clone_args c = {.flags = ev->nr == SYS_clone ? A(0) & ~(uint64_t)CSIGNAL : 0};
	if (ev->nr == SYS_clone3) {
		const long rc = clone_args(ev, &c);
		if (rc)
			return rc;
		const uint64_t known = 0xffffffff | CLONE_CLEAR_SIGHAND | CLONE_INTO_CGROUP;
		if (c.set_tid_size > 32 || !c.set_tid != !c.set_tid_size || c.exit_signal > _NSIG - 1 ||
		    (c.flags & CLONE_INTO_CGROUP && (c.cgroup > INT32_MAX || A(1) < CLONE_ARGS_SIZE_VER2)) ||
		    c.flags & ~known || c.flags & (CLONE_DETACHED | (CSIGNAL & ~CLONE_NEWTIME)) ||
		    (c.flags & CLONE_SIGHAND && c.flags & CLONE_CLEAR_SIGHAND) ||
		    (c.flags & (CLONE_THREAD | CLONE_PARENT) && c.exit_signal) || !c.stack != !c.stack_size)
			return -EINVAL;
	}
	if (ev->nr == SYS_clone && c.flags & CLONE_PIDFD && c.flags & (CLONE_PARENT_SETTID | CLONE_DETACHED))
		return -EINVAL;
	if ((c.flags & CLONE_FS && c.flags & (CLONE_NEWNS | CLONE_NEWUSER)) ||
	    (c.flags & CLONE_THREAD && !(c.flags & CLONE_SIGHAND)) ||
	    (c.flags & CLONE_SIGHAND && !(c.flags & CLONE_VM)) ||
	    (c.flags & CLONE_THREAD && c.flags & (CLONE_NEWUSER | CLONE_NEWPID)))
		return -EINVAL;
	return 0;
}

/* clone(2): the arguments of the raw calls; clone3 takes struct clone_args */
struct clone_request process_clone_request(const struct event *ev)
{
	struct clone_request r = {0};
	if (ev->nr == SYS_clone) {
		r = (struct clone_request){A(0), A(1), A(2), A(3), A(4), A(2)};
	} else if (ev->nr == SYS_clone3) {
		struct clone_args c;
		if (clone_args(ev, &c) == 0)
			r = (struct clone_request){c.flags | c.exit_signal,
						   c.stack ? c.stack + c.stack_size : 0,
						   c.parent_tid,
						   c.child_tid,
						   c.tls,
						   c.pidfd};
	} else {
		r.flags = SIGCHLD | (ev->nr == SYS_vfork ? CLONE_VFORK | CLONE_VM : 0);
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

/* The child's own recording starts here; what is said on stderr carries its pid. */
static void begin_recording(ucontext_t *uc, unsigned number)
{
	char dir[4096];
	if ((size_t)snprintf(dir, sizeof(dir), "%s/child-%u", lower.opt.dir, number) >= sizeof(dir))
		rdb_fatal("%s: too deep a tree of processes", lower.opt.dir);
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
	shared_in_child();
	boundary_begin(uc);
}

static void become_child(const struct clone_request *r, ucontext_t *uc, unsigned number)
{
	lower.pid = (pid_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	lower.was_pid = 0; /* those are its parent's numbers (pids.h) */
	lower.upper.first_pid = 0;
	int rc = lower.opt.no_children ? 0 : boundary_dispatch_on();
	if (rc)
		rdb_fatal("child %d: cannot take over system calls: %s", lower.pid, strerror(-rc));
	if (r->flags & CLONE_CHILD_SETTID)
		*(pid_t *)r->child_tid = lower.pid;
	if (r->flags & CLONE_SETTLS)
		thread_self()->upper.fs_base = r->tls;
	if (r->stack)
		UC_REG(uc, RSP) = r->stack;
	memory_wipe_in_child();
	thread_self()->upper.clear_child_tid = r->flags & CLONE_CHILD_CLEARTID ? r->child_tid : 0;
	UC_REG(uc, RAX) = 0;
	boundary_forget();
	if (lower.mode->forked)
		lower.mode->forked();
	if (lower.opt.no_children) {
		traps_set(false); /* rdtsc would trap in the programs that it becomes, too */
		lower.upper.traps = 0;
		seccomp_leave();
		lower.ended = true;
		mode_switch(&mode_pass);
	} else if (recording()) {
		begin_recording(uc, number);
	}
}

/* What the kernel does for a child that is a copy all the same. */
static const uint64_t PASSED = CLONE_FS | CLONE_PARENT | CLONE_IO | CLONE_SYSVSEM | CLONE_PIDFD | CLONE_NEWNS |
			       CLONE_NEWUSER | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP;

/* clone(2): a child here has memory, descriptors and handlers of its own. */
static void say_what_is_not_shared(uint64_t flags)
{
	static const struct {
		uint64_t flag;
		const char *what;
	} rows[] = {{CLONE_VM, "shares its memory"},
		    {CLONE_FILES, "shares its descriptors"},
		    {CLONE_NEWPID, "counts processes anew (CLONE_NEWPID)"},
		    {CLONE_INTO_CGROUP, "is in another control group (CLONE_INTO_CGROUP)"}};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (flags & rows[i].flag && !(rows[i].flag == CLONE_VM && flags & CLONE_VFORK))
			caution("it makes a process that %s: under rdb that is a copy as fork(2) makes one, and "
				"what the two do may differ from a run without rdb",
				rows[i].what);
}

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
	int rc = waits ? vfork_open(ends) : 0;
	if (rc)
		return rc;
	unsigned number = ++children;
	shared_before_fork();
	sigset_t mask;
	lower_block_signals(&mask);
	host_fork_begin();
	const bool pidfd = r.flags & CLONE_PIDFD;
	long pid = raw_syscall(SYS_clone, (long)(r.flags & (CSIGNAL | PASSED)), 0, pidfd ? (long)r.pidfd : 0, 0, 0, 0);
	if (pid == 0) {
		*in_child = true;
		if (waits)
			vfork_child(ends, r.flags & CLONE_VM);
		else
			vfork_forget();
		become_child(&r, uc, number);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return 0;
	}
	host_fork_end();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (waits)
		vfork_wait(ends, ev);
	if (pid > 0)
		say_what_is_not_shared(r.flags);
	if (pid > 0 && pidfd)
		event_out(ev, (void *)r.pidfd, sizeof(int));
	if (pid > 0 && (r.flags & CLONE_PARENT_SETTID)) {
		*(pid_t *)r.parent_tid = (pid_t)pid;
		event_out(ev, (void *)r.parent_tid, sizeof(pid_t));
	}
	return pid;
}

/* elf(5): the interpreter that the program names must be there, or execve fails */
static int check_elf(int fd, const Elf64_Ehdr *eh)
{
	char interp[4096];
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) || eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != EM_X86_64)
		return -ENOEXEC;
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh->e_phoff + i * sizeof(ph))) != sizeof(ph))
			return -ENOEXEC;
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz < 2 || ph.p_filesz > sizeof(interp) ||
		    pread(fd, interp, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz ||
		    interp[ph.p_filesz - 1])
			return -ENOEXEC;
		return access(interp, X_OK) ? -errno : 0;
	}
	return 0;
}

/* execve(2), "Interpreter scripts": may be scripts themselves, to a depth of five */
static int can_exec(const char *path, unsigned depth)
{
	struct stat st;
	char line[256] = "";
	Elf64_Ehdr eh;
	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return -EACCES;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno; /* executable but not readable: the kernel may */
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	int rc = -ENOEXEC;
	if (n > 2 && line[0] == '#' && line[1] == '!') {
		char *interp = line + 2 + strspn(line + 2, " \t");
		interp[strcspn(interp, " \t\n")] = 0;
		rc = !*interp ? -ENOEXEC : depth == 5 ? -ELOOP : can_exec(interp, depth + 1);
	} else if (pread(fd, &eh, sizeof(eh), 0) == sizeof(eh)) {
		rc = check_elf(fd, &eh);
	}
	close(fd);
	return rc;
}

int process_can_exec(const char *path)
{
	return can_exec(path, 0);
}

static unsigned add_option(const char **v, unsigned n, const char *name, const char *value)
{
	if (value) {
		v[n++] = name;
		v[n++] = value;
	}
	return n;
}

/* /proc/self/fd/N, where N may be closed by the exec: better the file's own name, if it still has one. */
static const char *named_by_descriptor(const char *path)
{
	static char name[4096];
	struct stat there, named;
	ssize_t len = readlink(path, name, sizeof(name) - 1);
	if (len <= 0)
		return path;
	name[len] = 0;
	bool same = !stat(path, &there) && !stat(name, &named) && there.st_dev == named.st_dev &&
		    there.st_ino == named.st_ino;
	return same ? name : path;
}

long process_exec(struct event *ev, const uint64_t a[6])
{
	static char dir[4096], full[4096];
	static struct handed_on handed_on;
	bool at = ev->nr == SYS_execveat;
	const char *path = (const char *)a[at ? 1 : 0];
	char *const *argv = (char *const *)a[at ? 2 : 1], *const *envp = (char *const *)a[at ? 3 : 2];
	size_t argc = 0;
	if (!path)
		return -EFAULT;
	if (!strcmp(path, "/proc/self/exe"))
		path = lower.upper.exe;
	if (at && path[0] != '/' && ((int)A(0) != AT_FDCWD || (A(4) & AT_EMPTY_PATH))) {
		int len = snprintf(full, sizeof(full), "/proc/self/fd/%d%s%s", (int)A(0), *path ? "/" : "", path);
		if (len >= (int)sizeof(full))
			return -ENAMETOOLONG;
		path = named_by_descriptor(full);
	}
	if (seccomp_left())
		return raw_syscall((long)ev->nr, (long)A(0), (long)A(1), (long)A(2), (long)A(3), (long)A(4), 0);
	int rc = process_can_exec(path);
	if (rc)
		return rc;
	while (argv && argv[argc])
		argc++;
	const char **v = mmap(NULL, (argc + OPTIONS) * sizeof(*v), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	char **variables = linker_variables_hidden(envp);
	if (v == MAP_FAILED || !variables)
		return -ENOMEM;
	bool record = recording();
	if (snprintf(dir, sizeof(dir), "%s/exec", lower.opt.dir) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	int made = record ? private_mkdir(dir) : 0;
	if (record && !made)
		made = other_names->hand_on(dir);
	if (made) {
		rdb_warn("%s: %s: %s runs unrecorded", dir, strerror(-made), path);
		record = false;
	}
	unsigned n = 0;
	v[n++] = "rdb-exec";
	n = add_option(v, n, "--dir", record ? dir : lower.opt.dir);
	n = add_option(v, n, "--exe", path);
	n = add_option(v, n, "--record",
		       record           ? (lower.opt.order ? "order" : "full")
		       : coordinating() ? "checkpoints"
					: "off");
	const unsigned handed = options_hand_on(TO_EXEC, &handed_on);
	memcpy(v + n, handed_on.words, handed * sizeof(*v));
	n += handed;
	v[n++] = "--";
	for (size_t i = 0; i < argc; i++)
		v[n++] = argv[i];
	if (!argc)
		v[n++] = path;
	sigset_t before;
	lower_block_signals(&before); /* they stay so until the new rdb-exec can hear them */
	signals_give_back();
	boundary_final_hash();
	boundary_end(LOG_END_EXEC, 0, path);
	traps_set(false);
	raw_syscall(SYS_execve, (long)"/proc/self/exe", (long)v, (long)variables, 0, 0, 0);
	rdb_fatal("%s: cannot be started: %s", path, strerror(errno));
}
