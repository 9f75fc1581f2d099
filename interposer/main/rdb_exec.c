/* rdb-exec: the lower half's main program.
 *
 *   rdb-exec --dir RANKDIR --files FILESDIR [options] -- PROG ARGS     records
 *   rdb-exec --replay RANKDIR --files FILESDIR --verify                replays at full speed
 *   rdb-exec --replay RANKDIR --files FILESDIR --agent-fd FD           a replica for the server
 *   rdb-exec --replay RANKDIR --files FILESDIR --checkpoint N --only-check [--from-image]   is it whole?
 *   rdb-exec --replay RANKDIR --files FILESDIR --expand ...            under mpirun: makes the payloads again
 *   rdb-exec --restart RANKDIR --at EVENT --dir BRANCHDIR --files FILESDIR -- PROG ARGS    goes on live
 *   rdb-exec --probe
 *
 * Exit codes: the program's own; 127 not found, 126 cannot be executed, 125 rdb itself could not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "crossing/ending.h"
#include "base/apart.h"
#include "base/descriptors.h"
#include "base/cpu_features.h"
#include "arch/thread_pointer.h"
#include "crossing/gate_asm.h"
#include "image/image.h"
#include "restart/checkpoint/coordinated.h"
#include "restart/checkpoint/next_program.h"
#include "restart/live/live.h"
#include "restart/live/restore_state.h"
#include "restart/memory/shared_again.h"
#include "restart/process/attributes.h"
#include "restart/process/identity.h"
#include "restart/process/scheduling.h"
#include "restart/process/sent_signals.h"
#include "restart/process/timers.h"
#include "restart/tree/tree.h"
#include "base/pids.h"
#include "answer/distribution.h"
#include "answer/linker_variables.h"
#include "answer/loader.h"
#include "answer/limits.h"
#include "answer/program.h"
#include "replay/poll_replay.h"
#include "restart/copies/own_table.h"
#include "log/log_writer.h"
#include "log/meta.h"
#include "main/cpu_check.h"
#include "main/inherited.h"
#include "main/options.h"
#include "main/script.h"
#include "main/sources.h"
#include "base/probe.h"
#include "base/trace.h"
#include "space/side_files.h"
#include "replay/deliver.h"
#include "replay/expand.h"
#include "replay/patience.h"
#include "replay/replay.h"
#include "replay/replica.h"
#include "seek/stepping.h"
#include "base/seccomp.h"
#include "task/signals.h"
#include "task/thread.h"
#include "space/upper_memory.h"
#include "text/traps.h"

/* The program's environment is ours, with LD_BIND_NOW: lazy binding spills dead vector registers, whose content after a
 * call to the lower half is undefined (rr does the same). */
static char **upper_environment(char **envp)
{
	static char bind_now[] = "LD_BIND_NOW=1";
	bool bound = false;
	size_t n = 0;
	linker_variables_shown(envp);
	for (; envp[n]; n++) {
		if (!strcmp(envp[n], "LD_BIND_NOW=")) /* ld.so(8): that is to bind lazily */
			envp[n] = bind_now;
		bound |= !strncmp(envp[n], bind_now, 12);
	}
	char **copy = malloc((n + 2) * sizeof(*copy));
	if (!copy)
		rdb_fatal("out of memory");
	memcpy(copy, envp, n * sizeof(*copy));
	if (!bound)
		copy[n++] = bind_now;
	copy[n] = NULL;
	return copy;
}

/* A program that replaced itself: the directory is now the new program's.  Its log only says what the program is, and
 * its files. */
static void forget_program_before(void)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/log-000000.seg", lower.opt.dir) < sizeof(path))
		unlink(path);
}

static int record(char **envp)
{
	static char path[4096];
	struct loaded prog;
	const char *why = NULL;
	signals_inherit();
	limits_begin();
	if (lower.opt.sigmask_given) /* the program before may have locked files */
		apart_needed();
	options_make_absolute();
	int rc = lower.opt.pids ? pids_open(lower.opt.pids) : 0;
	if (rc)
		rdb_warn("%s: %s: the process IDs that the program knows are not translated to those of now",
			 lower.opt.pids, strerror(-rc));
	thread_self()->upper.tid = lower.upper.pid = pid_known(lower.pid);
	int program = lower.opt.exe_fd ? lower_fd(lower.opt.exe_fd)
				       : program_find(lower.opt.exe ? lower.opt.exe : lower.opt.argv[0]);
	rc = program < 0 ? program : program_path(program, path);
	const char *called = lower.opt.exe ? lower.opt.exe : strchr(lower.opt.argv[0], '/') ? lower.opt.argv[0] : path;
	if (!rc)
		rc = script_follow(&program, called);
	if (!rc)
		rc = program_path(program, path);
	if (rc) {
		rdb_warn("%s: %s", lower.opt.argv[0], rc == -ENOENT ? "no such program" : "not an executable file");
		return rc == -ENOENT ? 127 : 126;
	}
	if (coordinating())
		forget_program_before();
	if (recording() || lower.opt.board)
		own_handed_on(lower.opt.dir);
	if (recording() || coordinating()) {
		rc = log_open(lower.opt.dir);
		/* the program before may have set itself a limit, or has filled the disk */
		if (rc && lower.opt.sigmask_given && recording()) {
			rdb_warn("%s: %s: %s runs unrecorded", lower.opt.dir, strerror(-rc), path);
			mode_switch(&mode_pass);
		} else if (rc) {
			rdb_warn("%s: the log cannot be created: %s", lower.opt.dir, strerror(-rc));
			return 125;
		} else {
			meta_log(path);
		}
	}
	if (recording() || coordinating())
		next_program_given();
	if (recording()) {
		scheduling_left();
		attributes_left();
		identity_left();
		if (lower.opt.sigmask_given) {
			timers_left();
			sent_signals_left();
		}
	}
	traps_begin();
	rc = loader_load(program, path, called, lower.opt.argv, upper_environment(envp), &prog, &why);
	if (rc) {
		rdb_warn("%s: %s", path, why);
		boundary_end(LOG_END_UNSUPPORTED, 126, why);
		return 126;
	}
	rc = boundary_init();
	if (rc) {
		rdb_warn("cannot intercept system calls: %s", strerror(-rc));
		return 125;
	}
	/* ps(1) shows it by its own name */
	const char *slash = strrchr(called, '/');
	prctl(PR_SET_NAME, slash ? slash + 1 : called);
	inherited_signalfds();
	signals_install(lower.opt.sigmask_given);
	if (coordinating())
		coordinated_begin();
	gate_enter(prog.pc, prog.sp);
}

static void replay_fill(ucontext_t *uc)
{
	image_registers(uc);
	if (lower.opt.from_image) {
		restore_state(uc);
		return;
	}
	if (!(restarting() && tree() && shared_again_answered()) && live_due()) {
		live_at_event(uc);
		return;
	}
	traps_set(true);
	poll_replay_ahead(uc);
	if (serving()) {
		agent_started(uc);
	} else {
		if (!lower.opt.restart) /* its timer would go on in the program */
			patience_begin();
		stepping_free_run();
	}
}

static int replay(void)
{
	if (lower.opt.restart) {
		options_make_absolute();
		lower.opt.branch = lower.opt.dir;
		lower.opt.dir = lower.opt.restart;
		next_program_given();
	}
	int rc = lower.opt.tree ? tree_begin() : 0;
	if (rc) {
		rdb_warn("%s: %s", lower.opt.tree, strerror(-rc));
		return 125;
	}
	if (cpu_check_recording(lower.opt.dir))
		return 5;
	const char *why = lower.opt.restart ? side_files_damaged(lower.opt.dir, NULL) : NULL;
	if (why) {
		rdb_warn("%s", why);
		return 5;
	}
	unsigned newest;
	/* of a bounded recording the first image is not number 0 */
	if (!lower.opt.checkpoint_given && image_numbers(&lower.opt.checkpoint, &newest))
		lower.opt.checkpoint = 0;
	if (lower.opt.only_check) {
		rc = image_check(lower.opt.checkpoint);
		if (!rc && lower.opt.from_image)
			rc = restore_state_check(lower.opt.checkpoint);
		return rc == -EPROTO ? 3 : rc ? 5 : 0;
	}
	uint32_t segment = 0;
	uint64_t off = 0;
	rc = image_restore(lower.opt.checkpoint, !lower.opt.checked, &segment, &off);
	if (!rc && lower.opt.redistribute)
		return distribution_write(lower.opt.redistribute) ? 125 : 0;
	if (!rc && !lower.opt.from_image)
		rc = replay_open(segment, off);
	if (!rc && lower.opt.from_image && lower.opt.mode_after->due)
		coordinated_join();
	if (!rc && lower.opt.from_image)
		rc = restore_state_prepare(lower.opt.checkpoint);
	if (!rc)
		rc = boundary_init();
	/* the recording says which signals the program has blocked, not our parent */
	const uint64_t none = 0;
	raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, 8, 0, 0);
	if (!rc && serving())
		rc = boundary_handle(SIGUSR1, agent_interrupt, 0);
	if (!rc && serving()) /* overdue.h */
		rc = boundary_handle(SIGPROF, agent_look, SA_RESTART);
	if (!rc && serving())
		rc = agent_init(lower.opt.agent_fd);
	if (!rc && verifying() && !lower.opt.from_image)
		rc = upper_open();
	if (!rc && lower.opt.expand)
		rc = expand_begin();
	if (!rc && lower.opt.deliver)
		rc = deliver_begin();
	if (rc) {
		if (rc != -EBADMSG && rc != -EPROTO)
			rdb_warn("%s: cannot be replayed: %s", lower.opt.dir, strerror(-rc));
		return rc == -EPROTO ? 3 : 5;
	}
	if (lower.opt.restart && !lower.opt.from_image)
		attributes_begin();
	if (lower.opt.restart)
		live_libraries_begin(); /* on a whole stack, and outside of a handler */
	boundary_resume(replay_fill);
}

int main(int argc, char **argv, char **envp)
{
	const char *lacking = cpu_lacks();
	if (lacking) {
		rdb_warn("this processor, or the virtual machine, has no %s: rdb needs a processor of 2011 or newer",
			 lacking);
		return 125;
	}
	/* before all else: every thread is found through its GS base */
	int rc = thread_pointer_prepare();
	if (rc) {
		rdb_warn("this processor has no FSGSBASE instructions, and rdb cannot emulate them: %s", strerror(-rc));
		return 125;
	}
	lower_at_fatal = boundary_end_unsupported;
	sources_set();
	lower.pid = getpid();
	lower.opt.slice_ms = 20;
	lower.opt.patience_s = 60;
	if (threads_init())
		rdb_fatal("out of memory");
	options_parse(argc, argv);
	descriptors_init();
	trace_init();
	const char *dispatch = getenv("RDB_DISPATCH"); /* for tests of the fall-back */
	if (!seccomp_in_use() && (!probe_dispatch() || (dispatch && !strcmp(dispatch, "seccomp"))))
		seccomp_use(false);
	return replaying() ? replay() : record(envp);
}
