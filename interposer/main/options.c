#include "main/options.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/lower.h"
#include "base/seccomp.h"
#include "answer/cpu_features.h"
#include "base/limit.h"
#include "base/probe.h"
#include "task/thread.h"

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: rdb-exec --dir RANKDIR --files FILESDIR [--rank N] [--hash-every N] [--mpi-lower PATH]\n"
	      "                [--mpi-stub PATH]... [--record=off|order|checkpoints] [--lax] [--no-children] [--exe PATH]\n"
	      "                [--sigmask HEX] [--cpu native|x86-64-v3|x86-64-v2]\n"
	      "                [--checkpoint-every N|NMB|Ns|0] [--keep N|NMB|Ns] [--log-budget NMB] [--slice MS]\n"
	      "                [--check sample|full|off]\n"
	      "                [--board FILE --ranks N --board-rank N [--mtbf S]]\n"
	      "                [--dispatch sud|seccomp] [--spawned FIRSTRANK [--appnum N]] -- PROG ARGS\n"
	      "       rdb-exec --replay RANKDIR --files FILESDIR (--verify | --agent-fd FD | --expand) [--checkpoint K]\n"
	      "                [--checked] [--patience S] [--until EVENT]\n"
	      "       rdb-exec --restart RANKDIR --at EVENT [--checkpoint K] [--in-place] [--in-flight FILE]\n"
	      "                [--world FIRSTRANK [--appnum N]] --dir ...\n"
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

/* inherited: by process_exec, from the program before, whose filter we are under. */
static void choose_dispatch(const char *how)
{
	if (!strcmp(how, "seccomp") || !strcmp(how, "inherited"))
		seccomp_use(*how == 'i');
	else if (strcmp(how, "sud"))
		usage();
}

static const char *const checks[] = {[CHECK_SAMPLE] = "sample", [CHECK_FULL] = "full", [CHECK_OFF] = "off"};

static void choose_check(const char *how)
{
	enum check c = CHECK_SAMPLE;
	while (c <= CHECK_OFF && strcmp(how, checks[c]))
		c++;
	if (c > CHECK_OFF)
		usage();
	lower.opt.check = c;
}

const char *check_chosen(void)
{
	return checks[lower.opt.check];
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

void options_parse(int argc, char **argv)
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
		WORLD,
		APPNUM,
		RESTART,
		AT,
		IN_PLACE,
		IN_FLIGHT,
		TREE,
		PROCESS,
		INHERIT,
		PIDS_,
		BOARD,
		RANKS,
		BOARD_RANK,
		MTBF,
		FROM_IMAGE,
		ONLY_CHECK,
		EXPAND,
		CHECK
	};
	static const struct option names[] = {
		// clang-format off
		{"dir", 1, 0, DIR_},
		{"files", 1, 0, FILES},
		{"rank", 1, 0, RANK},
		{"hash-every", 1, 0, HASH},
		{"check", 1, 0, CHECK},
		{"mpi-lower", 1, 0, LOWER},
		{"mpi-stub", 1, 0, STUB},
		{"verbs-lower", 1, 0, VERBS_LOWER},
		{"verbs-stub", 1, 0, VERBS_STUB},
		{"cm-stub", 1, 0, CM_STUB},
		{"hca", 1, 0, HCA},
		{"hca-key", 1, 0, HCA_KEY},
		{"spawned", 1, 0, SPAWNED},
		{"world", 1, 0, WORLD},
		{"appnum", 1, 0, APPNUM},
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
		{"tree", 1, 0, TREE},
		{"process", 1, 0, PROCESS},
		{"inherit", 1, 0, INHERIT},
		{"pids", 1, 0, PIDS_},
		{"board", 1, 0, BOARD},
		{"ranks", 1, 0, RANKS},
		{"board-rank", 1, 0, BOARD_RANK},
		{"mtbf", 1, 0, MTBF},
		{"from-image", 0, 0, FROM_IMAGE},
		{"only-check", 0, 0, ONLY_CHECK},
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
		case CHECK: choose_check(optarg); break;
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
		case WORLD:
			o->world_first = (int)number("world", optarg, 1 << 30);
			o->worlds = true;
			break;
		case APPNUM: o->appnum = (int)number("appnum", optarg, 1 << 20); break;
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
			o->sigmask_given = true;
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
		case TREE: o->tree = optarg; break;
		case PROCESS: o->process = optarg; break;
		case INHERIT: o->inherit = (int)number("inherit", optarg, 1 << 20); break;
		case PIDS_: o->pids = optarg; break;
		case BOARD: o->board = optarg; break;
		case RANKS: o->board_ranks = (unsigned)number("ranks", optarg, 1 << 20); break;
		case BOARD_RANK: o->board_rank = (int)number("board-rank", optarg, 1 << 20); break;
		case MTBF: o->mtbf_s = (double)number("mtbf", optarg, 1L << 40); break;
		case FROM_IMAGE: o->from_image = true; break;
		case ONLY_CHECK: verify = o->only_check = true; break;
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
	if (!o->tree != !o->process)
		usage();
	if (o->restart) {
		if (replay || (o->mode != MODE_RECORD && !o->from_image))
			usage();
		o->mode_after = o->mode;
		o->mode = MODE_VERIFY; /* hashes on the way are compared */
	}
	lower.mode = o->mode;
}

static void make_absolute(const char **path)
{
	char *full = *path ? realpath(*path, NULL) : NULL;
	if (full)
		*path = full;
}

void options_make_absolute(void)
{
	const char **paths[] = {&lower.opt.dir,         &lower.opt.files_dir,  &lower.opt.mpi_lower,
				&lower.opt.verbs_lower, &lower.opt.verbs_stub, &lower.opt.cm_stub,
				&lower.opt.hca_key,     &lower.opt.board,      &lower.opt.restart};
	for (unsigned i = 0; i < MPI_STUBS; i++)
		make_absolute(&lower.opt.mpi_stub[i]);
	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		make_absolute(paths[i]);
}
