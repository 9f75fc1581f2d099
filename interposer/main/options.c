#include "main/options.h"
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/lower.h"
#include "base/seccomp.h"
#include "arch/machine.h"
#include "crossing/filters.h"
#include "base/cpu_features.h"
#include "base/descriptors.h"
#include "base/handed_on.h"
#include "base/limit.h"
#include "base/probe.h"
#include "base/pids.h"
#include "restart/checkpoint/next_program.h"
#include "task/thread.h"

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: rdb-exec --dir RANKDIR --files FILESDIR [--rank N] [--hash-every N] [--mpi-lower PATH]\n"
	      "                [--mpi-stub PATH]... [--record=off|order|lean|checkpoints] [--lax] [--no-children] [--exe PATH]\n"
	      "                [--sigmask HEX] [--cpu " CPU_CHOICES "]\n"
	      "                [--checkpoint-every N|NMB|Ns|0] [--keep N|NMB|Ns] [--log-budget NMB] [--slice MS] [--chaos]\n"
	      "                [--check sample|full|off]\n"
	      "                [--board FILE --ranks N --board-rank N [--mtbf S]]\n"
	      "                [--dispatch sud|seccomp] [--spawned FIRSTRANK [--appnum N]] -- PROG ARGS\n"
	      "       rdb-exec --replay RANKDIR --files FILESDIR (--verify | --agent-fd FD | --expand | --deliver LIST)\n"
	      "                [--checkpoint K] [--ask COMMAND]\n"
	      "                [--checked] [--patience S] [--until EVENT]\n"
	      "       rdb-exec --restart RANKDIR --at EVENT [--checkpoint K] [--in-place] [--in-flight FILE]\n"
	      "                [--worlds --world FIRSTRANK [--appnum N]] --dir ...\n"
	      "       rdb-exec --probe\n",
	      stderr);
	exit(2);
}

enum kind { KIND_PATH, KIND_TEXT, KIND_FLAG, KIND_INT, KIND_UINT, KIND_LONG, KIND_U64, KIND_LIMIT, KIND_OWN };

struct option_row {
	const char *name;
	enum kind kind;
	size_t at;        /* the field in struct options */
	long most;        /* of a number */
	const char *word; /* of a limit */
	void (*take)(const char *text);
	/* Its value for `to`, written to `room` where it is a number; NULL: it is not handed on. */
	const char *(*give)(unsigned to, char room[NUMBER_TEXT]);
	unsigned handed;
};

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

/* ---- options that no kind describes ---- */

static void take_sigmask(const char *text)
{
	thread_self()->upper.sigmask = strtoul(text, NULL, 16);
	lower.opt.sigmask_given = true;
}

static const char *give_sigmask(unsigned to, char room[NUMBER_TEXT])
{
	(void)to;
	snprintf(room, NUMBER_TEXT, "%lx", (unsigned long)thread_self()->upper.sigmask);
	return room;
}

/* DESCRIPTOR:ADDRESS of the newest one (crossing/filters.h) */
static void take_filters(const char *text)
{
	char *end;
	const int fd = (int)strtol(text, &end, 10);
	const int rc = *end == ':' ? filters_take_over(fd) : -EINVAL;
	if (rc) {
		fprintf(stderr, "rdb: the filters of the program before (seccomp) cannot be read: %s\n", strerror(-rc));
		exit(125);
	}
	thread_self()->upper.filter = strtoul(end + 1, NULL, 16);
	close(fd);
}

static const char *give_filters(unsigned to, char room[NUMBER_TEXT])
{
	static int fd;
	const uint64_t newest = thread_self()->upper.filter;
	(void)to;
	if (!newest)
		return NULL;
	if (fd) /* an execve has failed since */
		lower_fd_close(fd);
	fd = filters_hand_on();
	if (fd < 0)
		rdb_fatal("the program's filters (seccomp) cannot be handed on: %s", strerror(-fd));
	snprintf(room, NUMBER_TEXT, "%d:%lx", fd, (unsigned long)newest);
	return room;
}

/* A descriptor (restart/checkpoint/next_program.h) */
static void take_left(const char *text)
{
	const int rc = next_program_take_over((int)strtol(text, NULL, 10));
	if (rc) {
		fprintf(stderr, "rdb: what the program before has left cannot be read: %s\n", strerror(-rc));
		exit(125);
	}
}

static const char *give_left(unsigned to, char room[NUMBER_TEXT])
{
	static int fd;
	(void)to;
	if (!coordinating() && !recording())
		return NULL;
	if (fd > 0) /* an execve has failed since */
		lower_fd_close(fd);
	fd = next_program_hand_on();
	if (fd < 0)
		rdb_fatal("what the program leaves to the next one cannot be handed on: %s", strerror(-fd));
	snprintf(room, NUMBER_TEXT, "%d", fd);
	return room;
}

static void take_pids(const char *text)
{
	lower.opt.pids = text;
}

static const char *give_pids(unsigned to, char room[NUMBER_TEXT])
{
	(void)to, (void)room;
	return pids_path();
}

/* As the program's clocks are ahead, in the order of struct clocks; last its thread's. */
static void take_clocks(const char *text)
{
	struct clocks *c = &lower.clocks;
	lower.clocks_ahead = sscanf(text, "%ld,%ld,%ld,%ld,%ld,%ld,%ld,%ld", &c->monotonic, &c->boot, &c->ticks,
				    &c->self.user, &c->self.system, &c->children.user, &c->children.system,
				    &thread_self()->processor_ahead) == 8;
	if (!lower.clocks_ahead)
		usage();
}

static const char *give_clocks(unsigned to, char room[NUMBER_TEXT])
{
	const struct clocks *c = &lower.clocks;
	(void)to;
	if (!lower.clocks_ahead)
		return NULL;
	snprintf(room, NUMBER_TEXT, "%ld,%ld,%ld,%ld,%ld,%ld,%ld,%ld", c->monotonic, c->boot, c->ticks, c->self.user,
		 c->self.system, c->children.user, c->children.system, thread_self()->processor_ahead);
	return room;
}

static void take_record(const char *how)
{
	struct options *o = &lower.opt;
	o->order = !strcmp(how, "order");
	o->lean = !strcmp(how, "lean");
	if (o->order || o->lean || !strcmp(how, "full"))
		mode_switch(&mode_record);
	else if (!strcmp(how, "checkpoints"))
		mode_switch(&mode_coordinated);
	else if (!strcmp(how, "off"))
		mode_switch(&mode_pass);
	else
		usage();
}

/* For spawned processes.  Without a log they have no place on the job's board. */
static const char *give_record(unsigned to, char room[NUMBER_TEXT])
{
	const struct options *o = &lower.opt;
	(void)to, (void)room;
	return !(o->restart ? o->mode_after : lower.mode)->records ? "off"
	       : o->order                                          ? "order"
	       : o->lean                                           ? "lean"
								   : "full";
}

static const char *const checks[] = {[CHECK_SAMPLE] = "sample", [CHECK_FULL] = "full", [CHECK_OFF] = "off"};

static void take_check(const char *how)
{
	enum check c = CHECK_SAMPLE;
	while (c <= CHECK_OFF && strcmp(how, checks[c]))
		c++;
	if (c > CHECK_OFF)
		usage();
	lower.opt.check = c;
}

static const char *give_check(unsigned to, char room[NUMBER_TEXT])
{
	(void)to, (void)room;
	return checks[lower.opt.check];
}

static void take_cpu(const char *name)
{
	if (!cpu_choose(name))
		usage();
}

static const char *give_cpu(unsigned to, char room[NUMBER_TEXT])
{
	(void)to, (void)room;
	return cpu_chosen();
}

/* inherited: passed on by process_exec; we are under the filter of the program before. */
static void take_dispatch(const char *how)
{
	if (!strcmp(how, "seccomp") || !strcmp(how, "inherited"))
		seccomp_use(*how == 'i');
	else if (strcmp(how, "sud"))
		usage();
}

static const char *give_dispatch(unsigned to, char room[NUMBER_TEXT])
{
	(void)room;
	return !seccomp_in_use() ? "sud" : to == TO_EXEC ? "inherited" : "seccomp";
}

static void take_checkpoint_every(const char *text)
{
	struct options *o = &lower.opt;
	o->no_checkpoints = !strcmp(text, "0");
	if (!o->no_checkpoints && !limit_parse(text, "events", &o->checkpoint_every))
		usage();
}

static const char *give_checkpoint_every(unsigned to, char room[NUMBER_TEXT])
{
	(void)to, (void)room;
	return lower.opt.no_checkpoints ? "0" : lower.opt.checkpoint_every.text;
}

static void take_mpi_stub(const char *path)
{
	unsigned i = 0;
	while (i < MPI_STUBS && lower.opt.mpi_stub[i])
		i++;
	if (i == MPI_STUBS)
		usage();
	lower.opt.mpi_stub[i] = path;
}

static void take_hca(const char *which)
{
	if (strcmp(which, "soft") && strcmp(which, "real") && strcmp(which, "auto"))
		usage();
	lower.opt.hca = which;
}

static const char *give_hca(unsigned to, char room[NUMBER_TEXT])
{
	(void)to, (void)room;
	return lower.opt.hca;
}

static void take_checkpoint(const char *text)
{
	lower.opt.checkpoint = (unsigned)number("checkpoint", text, 1 << 30);
	lower.opt.checkpoint_given = true;
}

/* ---- the table ---- */

#define FIELD(kind_, field) .kind = KIND_##kind_, .at = offsetof(struct options, field)
#define PATH(field) FIELD(PATH, field)
#define TEXT(field) FIELD(TEXT, field)
#define FLAG(field) FIELD(FLAG, field)
#define INT(field, most_) FIELD(INT, field), .most = most_
#define UINT(field, most_) FIELD(UINT, field), .most = most_
#define LONG(field, most_) FIELD(LONG, field), .most = most_
#define U64(field, most_) FIELD(U64, field), .most = most_
#define LIMIT(field, word_) FIELD(LIMIT, field), .word = word_
#define OWN_TAKEN(name_) .kind = KIND_OWN, .take = take_##name_
#define OWN(name_) OWN_TAKEN(name_), .give = give_##name_
#define OPTION(name_, how, handed_) {.name = name_, how, .handed = (handed_)},
static const struct option_row rows[] = {
#include "main/options.def"
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };
_Static_assert(ROWS + MPI_STUBS <= OPTIONS_MOST, "struct handed_on has room for all");

static void *field_of(const struct option_row *row)
{
	return (char *)&lower.opt + row->at;
}

static void take(const struct option_row *row, const char *text)
{
	void *field = field_of(row);
	switch (row->kind) {
	case KIND_PATH:
	case KIND_TEXT: *(const char **)field = text; break;
	case KIND_FLAG: *(bool *)field = true; break;
	case KIND_INT: *(int *)field = (int)number(row->name, text, row->most); break;
	case KIND_UINT: *(unsigned *)field = (unsigned)number(row->name, text, row->most); break;
	case KIND_LONG: *(long *)field = number(row->name, text, row->most); break;
	case KIND_U64: *(uint64_t *)field = (uint64_t)number(row->name, text, row->most); break;
	case KIND_LIMIT:
		if (!limit_parse(text, row->word, field))
			usage();
		break;
	case KIND_OWN: row->take(text); break;
	}
}

static const char *give(const struct option_row *row, unsigned to, char room[NUMBER_TEXT])
{
	const void *field = field_of(row);
	switch (row->kind) {
	case KIND_PATH:
	case KIND_TEXT: return *(const char *const *)field;
	case KIND_FLAG: return NULL;
	case KIND_INT: snprintf(room, NUMBER_TEXT, "%d", *(const int *)field); return room;
	case KIND_UINT: snprintf(room, NUMBER_TEXT, "%u", *(const unsigned *)field); return room;
	case KIND_LONG: snprintf(room, NUMBER_TEXT, "%ld", *(const long *)field); return room;
	case KIND_U64: snprintf(room, NUMBER_TEXT, "%lu", (unsigned long)*(const uint64_t *)field); return room;
	case KIND_LIMIT: return ((const struct limit *)field)->text;
	case KIND_OWN: return row->give(to, room);
	}
	return NULL;
}

static unsigned hand_on(unsigned to, struct handed_on *out)
{
	unsigned n = 0;
	for (unsigned i = 0; i < ROWS; i++) {
		if (!(rows[i].handed & to))
			continue;
		const bool flag = rows[i].kind == KIND_FLAG;
		const char *value = give(&rows[i], to, out->numbers[i]);
		if (flag ? !*(const bool *)field_of(&rows[i]) : !value)
			continue;
		snprintf(out->names[i], sizeof(out->names[i]), "--%s", rows[i].name);
		out->words[n++] = out->names[i];
		if (!flag)
			out->words[n++] = value;
	}
	for (unsigned i = 0; i < MPI_STUBS && lower.opt.mpi_stub[i]; i++) {
		out->words[n++] = "--mpi-stub";
		out->words[n++] = lower.opt.mpi_stub[i];
	}
	return n;
}

/* MPI_Comm_spawn made a directory for each of its processes in --dir, the job's.  The rank among them tells which is
 * ours. */
static void become_spawned(int first)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
	struct options *o = &lower.opt;
	const char *rank = NULL;
	char *dir;
	for (unsigned i = 0; !rank && i < sizeof(names) / sizeof(names[0]); i++)
		rank = getenv(names[i]);
	if (!rank) {
		fputs("rdb: --spawned: the launcher has set none of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK; only "
		      "MPI_Comm_spawn uses this option\n",
		      stderr);
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

static void check_modes(int argc, char **argv)
{
	struct options *o = &lower.opt;
	const bool verify = o->verify || o->expand || o->deliver || o->only_check || o->redistribute;
	if (o->replay)
		o->dir = o->replay;
	if (!o->dir || !o->files_dir)
		usage();
	if (coordinating() && (!o->board || (unsigned)o->board_rank >= o->board_ranks))
		usage();
	if (o->log_budget.unit != LIMIT_NONE && o->log_budget.unit != LIMIT_BYTES)
		usage();
	if (o->spawned >= 0)
		become_spawned(o->spawned);
	if (o->replay) {
		if (verify == (o->agent_fd >= 0) || optind != argc)
			usage();
		mode_switch(o->expand    ? &mode_expand
			    : o->deliver ? &mode_deliver
			    : verify     ? &mode_verify
					 : &mode_replica);
	} else {
		if (optind == argc)
			usage();
		o->argv = argv + optind;
	}
	if (!o->tree != !o->process || (o->from_image && !o->restart && !o->only_check && !o->redistribute))
		usage();
	if (o->restart) {
		if (o->replay || (!recording() && !o->from_image))
			usage();
		o->mode_after = lower.mode;
		mode_switch(&mode_restart);
	}
}

void options_parse(int argc, char **argv)
{
	enum { FIRST = 256 }; /* getopt_long(3) has values of its own below */
	struct option names[ROWS + 2] = {[ROWS] = {"probe", 0, NULL, FIRST + ROWS}};
	int c;
	for (int i = 0; i < ROWS; i++)
		names[i] = (struct option){rows[i].name, rows[i].kind != KIND_FLAG, NULL, FIRST + i};
	options_hand_on = hand_on;
	mode_switch(&mode_record);
	lower.opt.agent_fd = lower.opt.spawned = -1;
	lower.opt.until = UINT64_MAX;
	while ((c = getopt_long(argc, argv, "+", names, NULL)) != -1) {
		if (c < FIRST)
			usage();
		if (c == FIRST + ROWS)
			exit(probe_print());
		take(&rows[c - FIRST], optarg);
	}
	check_modes(argc, argv);
}

static void make_absolute(const char **path)
{
	char *full = *path ? realpath(*path, NULL) : NULL;
	if (full)
		*path = full;
}

void options_make_absolute(void)
{
	for (unsigned i = 0; i < MPI_STUBS; i++)
		make_absolute(&lower.opt.mpi_stub[i]);
	for (unsigned i = 0; i < ROWS; i++) {
		if (rows[i].kind == KIND_PATH)
			make_absolute(field_of(&rows[i]));
	}
}
