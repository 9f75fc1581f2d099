/* rdb-exec: the lower half's main program.
 *
 *   rdb-exec --dir RANKDIR --files FILESDIR [options] -- PROG ARGS     records
 *   rdb-exec --replay RANKDIR --files FILESDIR --verify                replays at full speed
 *   rdb-exec --replay RANKDIR --files FILESDIR --agent-fd FD           a replica for the server
 *   rdb-exec --replay RANKDIR --files FILESDIR --expand ...            under mpirun: makes the payloads again
 *   rdb-exec --restart RANKDIR --at EVENT --dir BRANCHDIR --files FILESDIR -- PROG ARGS    goes on live
 *   rdb-exec --probe
 *
 * Exit codes: the program's own; 127 not found, 126 cannot be executed, 125 rdb itself could not.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "boundary/boundary.h"
#include "process/descriptors.h"
#include "process/cpu_features.h"
#include "boundary/fsgsbase.h"
#include "boundary/gate_asm.h"
#include "image/image.h"
#include "live/coordinated.h"
#include "live/live.h"
#include "process/loader.h"
#include "memory/looks.h"
#include "log/log_writer.h"
#include "process/meta.h"
#include "process/process.h"
#include "process/probe.h"
#include "replay/expand.h"
#include "replay/patience.h"
#include "replay/replay.h"
#include "replay/replica.h"
#include "boundary/seccomp.h"
#include "signals/signals.h"
#include "threads/thread.h"
#include "agent/upper_memory.h"

struct lower lower;

static void say(const char *fmt, va_list ap)
{
	char line[1024] = "rdb: ";
	int n = vsnprintf(line + 5, sizeof(line) - 7, fmt, ap);
	size_t len = 5 + (n < (int)sizeof(line) - 7 ? (size_t)n : sizeof(line) - 8);
	line[len++] = '\n';
	raw_syscall(1 /* write */, 2, (long)line, (long)len, 0, 0, 0);
}

void rdb_warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void rdb_fatal(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	boundary_end(LOG_END_UNSUPPORTED, 125, text);
	_exit(125);
}

static void usage(void) __attribute__((noreturn));

static void usage(void)
{
	fputs("usage: rdb-exec --dir RANKDIR --files FILESDIR [--rank N] [--hash-every N] [--mpi-lower PATH]\n"
	      "                [--mpi-stub PATH]... [--record=off|order|checkpoints] [--lax] [--no-children] [--exe PATH]\n"
	      "                [--sigmask HEX] [--cpu native|x86-64-v3|x86-64-v2]\n"
	      "                [--checkpoint-every N|NMB|Ns|0] [--keep N|NMB|Ns] [--log-budget NMB] [--slice MS]\n"
	      "                [--board FILE --ranks N --board-rank N [--mtbf S]]\n"
	      "                [--dispatch sud|seccomp] [--spawned FIRSTRANK] -- PROG ARGS\n"
	      "       rdb-exec --replay RANKDIR --files FILESDIR (--verify | --agent-fd FD | --expand) [--checkpoint K]\n"
	      "                [--checked] [--patience S] [--until EVENT]\n"
	      "       rdb-exec --restart RANKDIR --at EVENT [--checkpoint K] [--in-place] [--in-flight FILE] --dir ...\n"
	      "       rdb-exec --probe\n",
	      stderr);
	exit(2);
}

static long number(const char *name, const char *text, long max)
{
	char *end;
	errno = 0;
	long v = strtol(text, &end, 10);
	if (errno || *end || end == text || v < 0 || v > max) {
		fprintf(stderr, "rdb: --%s %s: not a number from 0 to %ld\n", name, text, max);
		exit(2);
	}
	return v;
}

static bool mask_known; /* --sigmask was given */

/* inherited: by process_exec, from the program before, whose filter we are under. */
static void choose_dispatch(const char *how)
{
	if (!strcmp(how, "seccomp") || !strcmp(how, "inherited"))
		seccomp_use(*how == 'i');
	else if (strcmp(how, "sud"))
		usage();
}

/* MPI_Comm_spawn made directories for its processes in the job's, --dir: this one's is told by its rank among them. */
static void become_spawned(int first)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
	struct options *o = &lower.opt;
	const char *rank = NULL;
	char *dir;
	for (unsigned i = 0; !rank && i < sizeof(names) / sizeof(names[0]); i++)
		rank = getenv(names[i]);
	if (!rank) {
		fputs("rdb: --spawned: the launcher does not tell the rank; only MPI_Comm_spawn uses it\n", stderr);
		exit(2);
	}
	o->world_first = first;
	o->rank = first + (int)number("spawned", rank, 1 << 20);
	if (asprintf(&dir, "%s/rank-%d", o->dir, o->rank) < 0) {
		fputs("rdb: out of memory\n", stderr);
		exit(125);
	}
	o->dir = dir;
}

static void parse(int argc, char **argv)
{
	enum {
		DIR_ = 1,
		FILES,
		RANK,
		HASH,
		LOWER,
		STUB,
		RECORD,
		LAX,
		REPLAY,
		VERIFY,
		AGENT,
		CKPT,
		PROBE,
		EXE,
		MASK,
		NO_CHILDREN,
		SLICE,
		CPU,
		DISPATCH,
		CHECKED,
		CKPT_EVERY,
		UNTIL,
		KEEP,
		LOG_BUDGET,
		PATIENCE,
		VERBS_LOWER,
		VERBS_STUB,
		CM_STUB,
		HCA,
		HCA_KEY,
		SPAWNED,
		RESTART,
		AT,
		IN_PLACE,
		IN_FLIGHT,
		BOARD,
		RANKS,
		BOARD_RANK,
		MTBF,
		FROM_IMAGE,
		EXPAND
	};
	static const struct option names[] = {
		// clang-format off
		{"dir", 1, 0, DIR_},
		{"files", 1, 0, FILES},
		{"rank", 1, 0, RANK},
		{"hash-every", 1, 0, HASH},
		{"mpi-lower", 1, 0, LOWER},
		{"mpi-stub", 1, 0, STUB},
		{"verbs-lower", 1, 0, VERBS_LOWER},
		{"verbs-stub", 1, 0, VERBS_STUB},
		{"cm-stub", 1, 0, CM_STUB},
		{"hca", 1, 0, HCA},
		{"hca-key", 1, 0, HCA_KEY},
		{"spawned", 1, 0, SPAWNED},
		{"record", 1, 0, RECORD},
		{"lax", 0, 0, LAX},
		{"replay", 1, 0, REPLAY},
		{"verify", 0, 0, VERIFY},
		{"expand", 0, 0, EXPAND},
		{"agent-fd", 1, 0, AGENT},
		{"checkpoint", 1, 0, CKPT},
		{"until", 1, 0, UNTIL},
		{"probe", 0, 0, PROBE},
		{"exe", 1, 0, EXE},
		{"sigmask", 1, 0, MASK},
		{"no-children", 0, 0, NO_CHILDREN},
		{"slice", 1, 0, SLICE},
		{"cpu", 1, 0, CPU},
		{"dispatch", 1, 0, DISPATCH},
		{"checked", 0, 0, CHECKED},
		{"checkpoint-every", 1, 0, CKPT_EVERY},
		{"keep", 1, 0, KEEP},
		{"log-budget", 1, 0, LOG_BUDGET},
		{"restart", 1, 0, RESTART},
		{"at", 1, 0, AT},
		{"in-place", 0, 0, IN_PLACE},
		{"patience", 1, 0, PATIENCE},
		{"in-flight", 1, 0, IN_FLIGHT},
		{"board", 1, 0, BOARD},
		{"ranks", 1, 0, RANKS},
		{"board-rank", 1, 0, BOARD_RANK},
		{"mtbf", 1, 0, MTBF},
		{"from-image", 0, 0, FROM_IMAGE},
		// clang-format on
		{0, 0, 0, 0},
	};
	struct options *o = &lower.opt;
	bool replay = false, verify = false;
	unsigned stubs = 0;
	int c, first = -1;
	o->agent_fd = -1;
	o->until = UINT64_MAX;
	while ((c = getopt_long(argc, argv, "+", names, NULL)) != -1) {
		switch (c) {
		case DIR_: o->dir = optarg; break;
		case FILES: o->files_dir = optarg; break;
		case RANK: o->rank = (int)number("rank", optarg, 1 << 30); break;
		case HASH: o->hash_every = (uint64_t)number("hash-every", optarg, 1L << 60); break;
		case LOWER: o->mpi_lower = optarg; break;
		case STUB:
			if (stubs == MPI_STUBS)
				usage();
			o->mpi_stub[stubs++] = optarg;
			break;
		case VERBS_LOWER: o->verbs_lower = optarg; break;
		case VERBS_STUB: o->verbs_stub = optarg; break;
		case CM_STUB: o->cm_stub = optarg; break;
		case HCA:
			if (strcmp(optarg, "soft") && strcmp(optarg, "real") && strcmp(optarg, "auto"))
				usage();
			o->hca = optarg;
			break;
		case HCA_KEY: o->hca_key = optarg; break;
		case SPAWNED: first = (int)number("spawned", optarg, 1 << 30); break;
		case RECORD:
			o->checkpoints_only = !strcmp(optarg, "checkpoints");
			o->order = !strcmp(optarg, "order");
			if (strcmp(optarg, "off") && strcmp(optarg, "full") && !o->checkpoints_only && !o->order)
				usage();
			o->mode = strcmp(optarg, "full") && !o->order ? MODE_PASS : MODE_RECORD;
			break;
		case LAX: o->lax = true; break;
		case REPLAY:
			o->dir = optarg;
			replay = true;
			break;
		case EXPAND: o->expand = true; /* fall through */
		case VERIFY: verify = true; break;
		case AGENT: o->agent_fd = (int)number("agent-fd", optarg, 1 << 20); break;
		case CKPT:
			o->checkpoint = (unsigned)number("checkpoint", optarg, 1 << 30);
			o->checkpoint_given = true;
			break;
		case EXE: o->exe = optarg; break;
		case MASK:
			thread_self()->upper.sigmask = strtoul(optarg, NULL, 16);
			mask_known = true;
			break;
		case NO_CHILDREN: o->no_children = true; break;
		case SLICE: o->slice_ms = number("slice", optarg, 60000); break;
		case CPU:
			if (!cpu_choose(optarg))
				usage();
			break;
		case DISPATCH: choose_dispatch(optarg); break;
		case CHECKED: o->checked = true; break;
		case UNTIL: o->until = (uint64_t)number("until", optarg, INT64_MAX); break;
		case CKPT_EVERY:
			o->no_checkpoints = !strcmp(optarg, "0");
			if (!o->no_checkpoints && !limit_parse(optarg, "events", &o->checkpoint_every))
				usage();
			break;
		case KEEP:
			if (!limit_parse(optarg, "checkpoints", &o->keep))
				usage();
			break;
		case LOG_BUDGET:
			if (!limit_parse(optarg, "", &o->log_budget) || o->log_budget.unit != LIMIT_BYTES)
				usage();
			break;
		case RESTART: o->restart = optarg; break;
		case AT: o->at = (uint64_t)number("at", optarg, 1L << 60); break;
		case IN_PLACE: o->in_place = true; break;
		case PATIENCE: o->patience_s = number("patience", optarg, 1 << 30); break;
		case IN_FLIGHT: o->in_flight = optarg; break;
		case BOARD: o->board = optarg; break;
		case RANKS: o->board_ranks = (unsigned)number("ranks", optarg, 1 << 20); break;
		case BOARD_RANK: o->board_rank = (int)number("board-rank", optarg, 1 << 20); break;
		case MTBF: o->mtbf_s = (double)number("mtbf", optarg, 1L << 40); break;
		case FROM_IMAGE: o->from_image = true; break;
		case PROBE: exit(probe_print());
		default: usage();
		}
	}
	if (!o->dir || !o->files_dir)
		usage();
	if (o->checkpoints_only && (!o->board || (unsigned)o->board_rank >= o->board_ranks))
		usage();
	if (first >= 0)
		become_spawned(first);
	if (replay) {
		if (verify == (o->agent_fd >= 0) || optind != argc)
			usage();
		o->mode = verify ? MODE_VERIFY : MODE_REPLICA;
	} else {
		if (optind == argc)
			usage();
		o->argv = argv + optind;
	}
	if (o->restart) {
		if (replay || (o->mode != MODE_RECORD && !o->from_image))
			usage();
		o->mode_after = o->mode;
		o->mode = MODE_VERIFY; /* hashes on the way are compared */
	}
	lower.mode = o->mode;
}

/* The program's environment is ours, with LD_BIND_NOW: lazy binding spills dead vector registers, whose
 * content after a call to the lower half is nobody's business (rr does the same). */
static char **upper_environment(char **envp)
{
	static char bind_now[] = "LD_BIND_NOW=1";
	bool bound = false;
	size_t n = 0;
	while (envp[n])
		bound |= !strncmp(envp[n++], bind_now, 12);
	char **copy = malloc((n + 2) * sizeof(*copy));
	if (!copy)
		rdb_fatal("out of memory");
	memcpy(copy, envp, n * sizeof(*copy));
	if (!bound)
		copy[n++] = bind_now;
	copy[n] = NULL;
	return copy;
}

/* execve(2), interpreter scripts: `#!interpreter [argument]`.  Puts the interpreter before the command
 * line, path becomes its path; name is what the script was called by.  0, or -errno: not found, or scripts
 * nested too deep. */
static int follow_script(char *path, const char *name, unsigned depth)
{
	static char line[5][4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line[depth], sizeof(line[0]) - 1);
	if (fd >= 0)
		close(fd);
	if (n < 3 || strncmp(line[depth], "#!", 2))
		return 0;
	line[depth][n] = 0;
	line[depth][strcspn(line[depth], "\n")] = 0;
	char *interp = line[depth] + 2 + strspn(line[depth] + 2, " \t");
	char *arg = interp + strcspn(interp, " \t");
	if (*arg)
		*arg++ = 0;
	arg += strspn(arg, " \t");
	for (char *end = arg + strlen(arg); end > arg && strchr(" \t", end[-1]);)
		*--end = 0;
	size_t argc = 0;
	while (lower.opt.argv[argc])
		argc++;
	char **v = calloc(argc + 3, sizeof(*v)), *script = strdup(name);
	if (!v || !script)
		return -ENOMEM;
	size_t k = 0;
	v[k++] = interp;
	if (*arg)
		v[k++] = arg;
	v[k++] = script;
	memcpy(v + k, lower.opt.argv + 1, (argc - 1) * sizeof(*v));
	lower.opt.argv = v;
	int rc = loader_find(interp, path);
	return rc ? rc : depth == 4 ? -ELOOP : follow_script(path, interp, depth + 1);
}

/* Paths stay right when the program changes its directory. */
static void make_absolute(const char **path)
{
	char *full = *path ? realpath(*path, NULL) : NULL;
	if (full)
		*path = full;
}

static void make_paths_absolute(void)
{
	const char **paths[] = {&lower.opt.dir,         &lower.opt.files_dir,  &lower.opt.mpi_lower,
				&lower.opt.verbs_lower, &lower.opt.verbs_stub, &lower.opt.cm_stub,
				&lower.opt.hca_key,     &lower.opt.board};
	for (unsigned i = 0; i < MPI_STUBS; i++)
		make_absolute(&lower.opt.mpi_stub[i]);
	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		make_absolute(paths[i]);
}

/* A program that replaced itself: the directory is the new one's.  The log is one in name only: what the program is,
 * and its files. */
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
	make_paths_absolute();
	int rc = loader_find(lower.opt.exe ? lower.opt.exe : lower.opt.argv[0], path);
	const char *called = lower.opt.exe ? lower.opt.exe : strchr(lower.opt.argv[0], '/') ? lower.opt.argv[0] : path;
	if (!rc)
		rc = follow_script(path, called, 0);
	if (rc) {
		rdb_warn("%s: %s", lower.opt.argv[0], rc == -ENOENT ? "no such program" : "not an executable file");
		return rc == -ENOENT ? 127 : 126;
	}
	if (lower.opt.checkpoints_only)
		forget_program_before();
	if (lower.mode == MODE_RECORD || lower.opt.checkpoints_only) {
		rc = log_open(lower.opt.dir);
		if (rc) {
			rdb_warn("%s: the log cannot be created: %s", lower.opt.dir, strerror(-rc));
			return 125;
		}
		meta_log(path);
	}
	rc = loader_load(path, lower.opt.argv, upper_environment(envp), &prog, &why);
	if (rc) {
		rdb_warn("%s: %s", path, why);
		boundary_end(LOG_END_UNSUPPORTED, 126, why);
		return 126;
	}
	rc = boundary_init();
	if (rc) {
		rdb_warn("cannot take over system calls: %s", strerror(-rc));
		return 125;
	}
	/* ps(1) shows it by its own name */
	const char *slash = strrchr(called, '/');
	prctl(PR_SET_NAME, slash ? slash + 1 : called);
	signals_install(mask_known);
	if (lower.opt.checkpoints_only)
		coordinated_begin();
	gate_enter(prog.pc, prog.sp);
}

static void replay_fill(ucontext_t *uc)
{
	image_registers(uc);
	if (lower.opt.from_image) {
		thaw(uc);
		return;
	}
	if (live_due()) {
		live_at_event(uc);
		return;
	}
	if (lower.upper.tsc_mode)
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	looks_ahead(uc);
	if (lower.mode == MODE_REPLICA) {
		agent_started(uc);
	} else {
		if (!lower.opt.restart) /* its timer would go on in the program */
			patience_begin();
		agent_free_run();
	}
}

static int replay(void)
{
	if (lower.opt.restart) {
		make_paths_absolute();
		make_absolute(&lower.opt.restart);
		lower.opt.branch = lower.opt.dir;
		lower.opt.dir = lower.opt.restart;
	}
	if (cpu_check_recording(lower.opt.dir))
		return 5;
	unsigned newest;
	/* of a bounded recording the first image is not number 0 */
	if (!lower.opt.checkpoint_given && image_numbers(&lower.opt.checkpoint, &newest))
		lower.opt.checkpoint = 0;
	int rc = image_restore(lower.opt.checkpoint, !lower.opt.checked);
	if (!rc && lower.opt.from_image && lower.opt.checkpoints_only)
		coordinated_join();
	if (!rc && lower.opt.from_image)
		rc = thaw_prepare(lower.opt.checkpoint);
	if (!rc)
		rc = boundary_init();
	if (!rc && lower.mode == MODE_REPLICA)
		rc = agent_init(lower.opt.agent_fd);
	if (!rc && lower.mode == MODE_VERIFY && !lower.opt.from_image)
		rc = upper_open();
	if (!rc && lower.opt.expand)
		rc = expand_begin();
	if (rc) {
		if (rc != -EBADMSG && rc != -EPROTO)
			rdb_warn("%s: cannot be replayed: %s", lower.opt.dir, strerror(-rc));
		return rc == -EPROTO ? 3 : 5;
	}
	if (lower.opt.restart)
		live_libraries_begin(); /* on a whole stack, and outside of a handler */
	boundary_resume(replay_fill);
}

int main(int argc, char **argv, char **envp)
{
	/* first of all: every thread is found through its GS base */
	int rc = probe_fsgsbase() ? 0 : fsgsbase_emulate();
	if (rc) {
		rdb_warn("no FSGSBASE instructions here, and they cannot be emulated: %s", strerror(-rc));
		return 125;
	}
	lower.pid = getpid();
	lower.opt.slice_ms = 20;
	lower.opt.patience_s = 60;
	if (threads_init())
		rdb_fatal("out of memory");
	parse(argc, argv);
	descriptors_init();
	const char *dispatch = getenv("RDB_DISPATCH"); /* for tests of the fall-back */
	if (!seccomp_in_use() && (!probe_dispatch() || (dispatch && !strcmp(dispatch, "seccomp"))))
		seccomp_use(false);
	return replaying() ? replay() : record(envp);
}
